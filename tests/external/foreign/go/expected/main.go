// Command expected passes its arguments to `go test`, and compares the results with the file that
// AZURE_TABLE_FOREIGN_EXPECTED names: a test it lists has to fail, any other one to pass.
//
// Each line is `test | reason`. With `? ` in front, the test may also pass.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

type reason struct {
	text    string
	mayPass bool
}

// event is a line of `go test -json`.
type event struct{ Action, Test, Output string }

func main() {
	expected, err := read(os.Getenv("AZURE_TABLE_FOREIGN_EXPECTED"))
	if err == nil {
		err = run(expected, os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read(path string) (map[string]reason, error) {
	text, err := os.ReadFile(path)
	expected := map[string]reason{}
	for line := range strings.Lines(string(text)) {
		name, why, found := strings.Cut(strings.TrimSpace(line), " | ")
		if found && !strings.HasPrefix(name, "#") {
			name, mayPass := strings.CutPrefix(name, "? ")
			expected[name] = reason{why, mayPass}
		}
	}
	return expected, err
}

func run(expected map[string]reason, arguments []string) error {
	command := exec.Command("go", append([]string{"test", "-json", "-count=1"}, arguments...)...)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	outputs, results := map[string]string{}, map[string]string{}
	for decoder := json.NewDecoder(output); ; {
		var event event
		if decoder.Decode(&event) != nil {
			break
		}
		outputs[event.Test] += event.Output
		switch event.Action {
		case "pass", "fail", "skip":
			results[event.Test] = event.Action
		}
	}
	failed := command.Wait() != nil
	return compare(expected, outputs, results, failed)
}

// compare prints the results that are not expected. The result without a name is that of all tests.
func compare(expected map[string]reason, outputs, results map[string]string, failed bool) error {
	delete(results, "")
	counts, unexpected := map[string]int{}, 0
	for _, name := range slices.Sorted(maps.Keys(results)) {
		result := results[name]
		counts[result]++
		known, listed := expected[name]
		switch {
		case result == "fail" && listed:
			fmt.Printf("expected  %s\n          %s\n", name, known.text)
		case result == "fail" && !failsInParts(name, results):
			unexpected++
			fmt.Printf("FAILED    %s\n%s\n", name, outputs[name])
		case result == "pass" && listed && !known.mayPass:
			unexpected++
			fmt.Printf("PASSED    %s, which expected.txt lists\n", name)
		case result == "skip":
			fmt.Printf("skipped   %s\n%s", name, outputs[name])
		}
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", counts["pass"], counts["fail"], counts["skip"])
	if unexpected > 0 || counts["pass"] == 0 || failed && counts["fail"] == 0 {
		fmt.Print(outputs[""])
		return fmt.Errorf("%d unexpected results", unexpected)
	}
	return nil
}

// failsInParts tells whether a test fails because one of its subtests does.
func failsInParts(name string, results map[string]string) bool {
	for other, result := range results {
		if result == "fail" && strings.HasPrefix(other, name+"/") {
			return true
		}
	}
	return false
}
