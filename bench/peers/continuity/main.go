// Copies SRC to DST as containerd's native snapshotter does.
package main

import (
	"fmt"
	"os"

	"github.com/containerd/continuity/fs"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: continuity SRC DST")
		os.Exit(2)
	}
	if err := fs.CopyDir(os.Args[2], os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
