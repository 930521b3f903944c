// What renders the chart here: helm, or the program chart/template.go, which is compiled with the libraries of Debian.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { answers } from './docker-engine.ts'
import { type Manifest, manifestsIn } from './manifest.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const chart = path.join(here, '../helm/annal')
/** Where Debian puts the sources of Go libraries. */
const goPath = '/usr/share/gocode'
const libraries = ['github.com/Masterminds/sprig', 'gopkg.in/yaml.v3']

export interface ChartRenderer {
  /** `helm`, or the name of its stand-in. */
  readonly name: string
  /** The program that has the command `template` of helm. */
  readonly program: string
  /** Throws with what the program said. */
  render(name: string, namespace: string, values: object): Manifest[]
  close(): void
}

/** Returns undefined where neither can be had. */
export function chartRenderer(): ChartRenderer | undefined {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'annal-chart-'))
  const close = () => rmSync(folder, { recursive: true, force: true })
  const program = answers('helm', 'version') ? 'helm' : compiled(path.join(folder, 'template'))
  if (program === undefined) {
    close()
    return undefined
  }
  const render = (name: string, namespace: string, values: object) => {
    const file = path.join(folder, 'values.json')
    writeFileSync(file, JSON.stringify(values))
    const args = ['template', name, chart, '--namespace', namespace, '--values', file]
    return manifestsIn(execFileSync(program, args, { encoding: 'utf8', stdio: 'pipe' }))
  }
  return { name: program === 'helm' ? 'helm' : 'Go, without helm', program, render, close }
}

function compiled(program: string): string | undefined {
  if (!answers('go', 'version') || !libraries.every((name) => existsSync(path.join(goPath, 'src', name))))
    return undefined
  const env = { ...process.env, GO111MODULE: 'off', GOPATH: goPath, GOFLAGS: '' }
  execFileSync('go', ['build', '-o', program, path.join(here, 'chart/template.go')], { env, stdio: 'pipe' })
  return program
}
