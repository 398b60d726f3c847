// Copies SRC to DST as the built-in vfs driver of Docker Engine does.
package main

import (
	"fmt"
	"os"

	"github.com/docker/docker/daemon/graphdriver/copy"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: moby SRC DST")
		os.Exit(2)
	}
	if err := copy.DirCopy(os.Args[1], os.Args[2], copy.Content, false); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
