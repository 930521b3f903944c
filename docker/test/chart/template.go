// Stands in for `helm template NAME CHART --namespace NAMESPACE --values FILE`, for tests where helm is not installed. It has what renders a chart
// in helm: the template language of Go, the functions of sprig, and of those that helm adds `include` and `toYaml`. It is not helm: it has no
// subcharts, no hooks, no lookups in a cluster, and it does not check values against values.schema.json, which the test does.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

type object = map[string]interface{}

type files struct{ chart string }

func (f files) Get(name string) string {
	data, _ := os.ReadFile(filepath.Join(f.chart, name))
	return string(data)
}

// As in helm, values pass through JSON, so every number is a float64.
func readYaml(file string) object {
	data, err := os.ReadFile(file)
	check(err)
	var parsed, result object
	check(yaml.Unmarshal(data, &parsed))
	text, err := json.Marshal(parsed)
	check(err)
	check(json.Unmarshal(text, &result))
	return result
}

// Maps are merged, null removes a default, and everything else replaces it.
func merge(to, from object) object {
	for name, value := range from {
		inner, isMap := value.(object)
		old, wasMap := to[name].(object)
		if value == nil {
			delete(to, name)
		} else if isMap && wasMap {
			merge(old, inner)
		} else {
			to[name] = value
		}
	}
	return to
}

func toYaml(value interface{}) string {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	check(encoder.Encode(value))
	return strings.TrimSuffix(out.String(), "\n")
}

func functions(all *template.Template) template.FuncMap {
	result := sprig.TxtFuncMap()
	delete(result, "env")
	delete(result, "expandenv")
	result["toYaml"] = toYaml
	result["include"] = func(name string, data interface{}) (string, error) {
		var out strings.Builder
		err := all.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	return result
}

func main() {
	if len(os.Args) < 6 || os.Args[1] != "template" || os.Args[4] != "--namespace" || len(os.Args)%2 != 0 {
		check(errors.New("usage: template NAME CHART --namespace NAMESPACE [--values FILE]..."))
	}
	name, chart, namespace := os.Args[2], os.Args[3], os.Args[5]
	values, about := readYaml(filepath.Join(chart, "values.yaml")), readYaml(filepath.Join(chart, "Chart.yaml"))
	for i := 7; i < len(os.Args); i += 2 {
		merge(values, readYaml(os.Args[i]))
	}
	// Chart.yaml has `version`, templates say `.Chart.Version`.
	described := object{}
	for key, value := range about {
		described[strings.ToUpper(key[:1])+key[1:]] = value
	}
	release := object{"Name": name, "Namespace": namespace, "Service": "Helm", "Revision": 1, "IsInstall": true, "IsUpgrade": false}
	data := object{"Values": values, "Chart": described, "Release": release, "Files": files{chart}}
	all := template.New("chart").Option("missingkey=zero")
	all.Funcs(functions(all))
	var names []string
	check(filepath.WalkDir(filepath.Join(chart, "templates"), func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			text, _ := os.ReadFile(file)
			names = append(names, file)
			_, err = all.New(file).Parse(string(text))
		}
		return err
	}))
	sort.Strings(names)
	for _, file := range names {
		if base := filepath.Base(file); strings.HasPrefix(base, "_") {
			continue
		}
		var out strings.Builder
		check(all.ExecuteTemplate(&out, file, data))
		// helm writes missing values like this, and removes them.
		text := strings.TrimSpace(strings.ReplaceAll(out.String(), "<no value>", ""))
		if strings.HasSuffix(file, "NOTES.txt") {
			// helm prints it after an installation.
			text = "# " + strings.ReplaceAll(text, "\n", "\n# ")
		}
		if text != "" {
			fmt.Printf("---\n# Source: %s\n%s\n", file, text)
		}
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}
