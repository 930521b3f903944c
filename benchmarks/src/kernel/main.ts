// `npm run bench:kernel`: what the index must show of threads, dispatch, churn and memory. Each part runs in processes of its own,
// with nothing else running: two threads on two cores and latencies mean nothing on a busy machine; what they are compared with takes
// turns with them all the same. Needs no data. Ends with 1 when a figure is missed.
//   npm run bench:kernel -- [--parts threads,dispatch,churn,memory,empty] [--size full|small] [--json FILE]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import os from 'node:os'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Size } from '../all/figures.ts'
import { isReached, type Wanted } from './figure.ts'

const { values } = parseArgs({
  options: {
    parts: { type: 'string', default: 'threads,dispatch,churn,memory,empty' },
    size: { type: 'string', default: 'full' },
    json: { type: 'string' },
  },
})
if (values.size !== 'small' && values.size !== 'full') throw new Error('--size is small or full')
const size: Size = values.size

/** The arguments of each process of a part. */
const parts: Readonly<Record<string, Readonly<Record<Size, readonly (readonly string[])[]>>>> = {
  threads: { small: [['--rows', '4000', '--rounds', '3']], full: [['--rows', '30000', '--rounds', '5']] },
  dispatch: { small: [['--rows', '4000', '--rounds', '5']], full: [['--rows', '50000', '--rounds', '15']] },
  churn: { small: [['--rows', '4000', '--cycles', '5']], full: [['--rows', '50000', '--cycles', '20']] },
  memory: { small: perPrecision('50000'), full: perPrecision('200000') },
  empty: { small: [['--collections', '100']], full: [['--collections', '500']] },
}

function perPrecision(rows: string): string[][] {
  return ['binary', 'int8', 'int16', 'float16', 'float32'].map((precision) => [
    '--rows',
    rows,
    '--precision',
    precision,
  ])
}

const machine = `${os.cpus()[0]?.model ?? 'unknown processor'}, ${os.availableParallelism()} cores, Node ${process.version}`
console.log(machine)
const figures: (Wanted & { readonly reached: boolean })[] = []
const loads: Record<string, number> = {}
for (const name of values.parts.split(',')) {
  const part = parts[name]
  if (part === undefined) throw new Error(`there is no part "${name}": they are ${Object.keys(parts).join(', ')}`)
  loads[name] = Number(os.loadavg()[0]?.toFixed(1))
  console.log(`${name}, load ${loads[name]}`)
  for (const args of part[size])
    for (const figure of await run(name, args)) {
      figures.push({ ...figure, reached: isReached(figure) })
      console.log(`  ${shown(figure)}`)
    }
}
const command = `npm run bench:kernel -- --parts ${values.parts} --size ${size}`
if (values.json !== undefined)
  writeFileSync(values.json, `${JSON.stringify({ command, machine, loads, figures }, undefined, 1)}\n`)
process.exitCode = figures.every(({ reached }) => reached) ? 0 : 1

async function run(part: string, args: readonly string[]): Promise<Wanted[]> {
  const file = fileURLToPath(new URL(`${part}.ts`, import.meta.url))
  // What a process holds is to be what it needs: garbage is collected where a part asks for it, the heaps of its threads do not grow and
  // shrink by megabytes, and large blocks go back to the system when they are freed.
  const heaps = part === 'memory' || part === 'empty' ? ['--expose-gc', '--max-semi-space-size=1'] : []
  const child = spawn(process.execPath, [...process.execArgv, ...heaps, file, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, MALLOC_MMAP_THRESHOLD_: '131072' },
  })
  const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  if (code !== 0) throw new Error(`${part} ${args.join(' ')} ended with ${code}`)
  return JSON.parse(said) as Wanted[]
}

function shown(figure: Wanted): string {
  const { name, value, unit, more, wanted } = figure
  const is = `${name}: ${value >= 1000 ? value.toFixed(0) : value.toPrecision(4)} ${unit}`
  if (wanted === undefined) return is
  return `${is} (${more === 'better' ? 'at least' : 'at most'} ${wanted}${isReached(figure) ? '' : ', MISSED'})`
}
