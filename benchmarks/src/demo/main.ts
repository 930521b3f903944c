// `npm run demo`: runs the demo on Fashion-MNIST if it is found, else on a generated set. Exits with code 0 only if every figure meets its
// target. `--data DIR`, `--quick`, `--queries N`, `--seed N`, `--json FILE`.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { readOptions } from '../options.ts'
import { type Dataset, readDataset } from './dataset.ts'
import { type DemoOptions, efDefault, runDemo } from './demo.ts'
import { generateDataset } from './generated.ts'
import { judge } from './targets.ts'
import { type Terminal, terminal } from './terminal.ts'

const values = readOptions({ data: String, json: String, queries: Number, seed: 1, quick: false })

const out = terminal(process.stdout)
const data = chooseDataset(out)
const scratch = mkdtempSync(path.join(os.tmpdir(), 'annal-demo-'))
// Also after Ctrl-C: the exit handlers stop the server and remove the data.
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }))
process.once('SIGINT', () => process.exit(130))
process.once('SIGTERM', () => process.exit(143))

const options: DemoOptions = {
  data,
  scratch,
  efs: [64, efDefault, 256],
  queries: Math.min(data.queryCount, values.queries ?? 1_000),
}
const figures = await runDemo(options, out)
const verdicts = judge(figures, { timed: !values.quick })
out.title('Targets')
for (const { ok, text } of verdicts) out.verdict(ok, text)
if (values.json !== undefined) {
  writeFileSync(values.json, `${JSON.stringify({ machine: machine(), figures, verdicts }, undefined, 2)}\n`)
}
process.exitCode = verdicts.every(({ ok }) => ok) ? 0 : 1

function chooseDataset(terminal: Terminal): Dataset {
  const { seed } = values
  if (values.quick) return generateDataset({ count: 3_000, dimension: 48, queryCount: 1_000 }, seed)
  const folder = values.data ?? fileURLToPath(new URL('../../../../shared/data/fashion-mnist', import.meta.url))
  if (existsSync(path.join(folder, 'meta.json'))) return readDataset(folder)
  if (values.data !== undefined) throw new Error(`${folder} has no meta.json`)
  terminal.title('Fashion-MNIST not found (name its folder with --data); generating a set with exact answers')
  return generateDataset({ count: 20_000, dimension: 128, queryCount: 4_000 }, seed)
}

function machine() {
  const [cpu] = os.cpus()
  return {
    cpu: cpu?.model ?? 'unknown',
    cores: os.availableParallelism(),
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    system: `${os.type()} ${os.release()}`,
    node: process.version,
  }
}
