# Completion for lamina(1), for bash-completion.
# shellcheck shell=bash

_lamina() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]} words= kind=-d

    # Behind "=" and ":" bash begins a new word.
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi

    if [[ $command == cache && $COMP_CWORD -gt 2 ]]; then
        command="cache ${COMP_WORDS[2]}"
    fi

    COMPREPLY=()
    if [[ $COMP_CWORD -eq 1 ]]; then
        words='copy apply unpack write changes diff remove lock unlock
            cache probe --help --version'
    else
        case $prev in
        cache) [[ $cur == -* ]] || words='get add list evict verify' ;;
        --mode)
            words='auto reflink hardlink'
            [[ $command == copy ]] && words+=' content'
            ;;
        --xattrs) words='all image none' ;;
        --owner) words='keep mapped none' ;;
        --whiteouts) words='remove overlay keep none' ;;
        --uid-map | --gid-map | --label | --workers | --expect-diff-id | \
            --expect-digest | --strip | --max-size | --max-entries | \
            --max-ratio | --max-window | --platform | --max-bytes | \
            --older-than | --to | --to-entries) return ;;
        -o | --output)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            return
            ;;
        *)
            [[ $cur == -* ]] && case $command in
            copy)
                words='--mode --xattrs --owner --uid-map --gid-map --label
                    --one-file-system --workers --strict --best-effort
                    --keep-partial --verify --json --help'
                ;;
            apply)
                words='--whiteouts --lower --expect-diff-id --expect-digest --strip
                    --owner --uid-map --gid-map --xattrs --best-effort
                    --max-size --max-entries --max-ratio --max-window
                    --workers --keep-partial --json --help'
                ;;
            unpack)
                words='--platform --owner --uid-map --gid-map --xattrs
                    --best-effort --max-size --max-entries --max-ratio
                    --max-window --workers --keep-partial --json --help'
                ;;
            changes) words='--xattrs --whole-seconds --json --help' ;;
            diff)
                words='--xattrs --whole-seconds --output --best-effort --json
                    --help'
                ;;
            remove) words='--workers --help' ;;
            write) words='--manifest --workers --help' ;;
            lock | unlock | cache) words='--help' ;;
            'cache get')
                words='--root --json --manifest --blobs --mode --batch
                    --max-bytes --max-entries --help'
                ;;
            'cache add') words='--root --json --max-bytes --max-entries --help' ;;
            'cache list' | 'cache verify') words='--root --json --help' ;;
            'cache evict')
                words='--root --json --older-than --to --to-entries --help'
                ;;
            probe) words='--json --help' ;;
            esac
            ;;
        esac
    fi
    if [[ -n $words ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
    else
        compopt -o filenames 2>/dev/null
        # A layer and a manifest are files; all other arguments, directories.
        [[ $command == apply || $command == unpack ||
            $prev == --manifest ]] && kind=-f
        mapfile -t COMPREPLY < <(compgen "$kind" -- "$cur")
    fi
}

complete -F _lamina lamina
