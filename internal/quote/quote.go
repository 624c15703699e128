// Package quote prepares names from untrusted files for messages.
package quote

import "fmt"

// most is the number of bytes of a name that are shown: names can be as long as the file
// that has them.
const most = 120

// Name returns a name in quotes, shortened to most bytes, with unprintable characters
// escaped.
func Name(s string) string {
	if len(s) > most {
		return fmt.Sprintf("%q…", s[:most])
	}
	return fmt.Sprintf("%q", s)
}
