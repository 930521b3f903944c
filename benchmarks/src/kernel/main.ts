// `npm run bench:kernel`: measures threads, dispatch, churn, and memory of the index. Each part runs in separate processes. The machine should
// have no other work, because latencies and the speed of two threads mean nothing on a busy machine; measurements that are compared alternate
// nevertheless. Needs no data. Exits with code 1 if a figure misses its limit.
//   npm run bench:kernel -- [--parts threads,dispatch,churn,memory,empty,process] [--size full|small] [--json FILE]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import os from 'node:os'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Size } from '../all/figures.ts'
import { readOptions } from '../options.ts'
import { isReached, type LimitedFigure } from './figure.ts'

const values = readOptions({
  parts: 'threads,dispatch,churn,memory,empty',
  size: 'full',
  json: String,
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
  process: { small: perPrecision('160000'), full: perPrecision('260000') },
}

function perPrecision(rows: string): string[][] {
  return ['binary', 'int2', 'int4', 'int8', 'int16', 'float16', 'float32'].map((precision) => [
    '--rows',
    rows,
    '--precision',
    precision,
  ])
}

const machine = `${os.cpus()[0]?.model ?? 'unknown processor'}, ${os.availableParallelism()} cores, Node ${process.version}`
console.log(machine)
const figures: (LimitedFigure & { readonly reached: boolean })[] = []
const loads: Record<string, number> = {}
for (const name of values.parts.split(',')) {
  const part = parts[name]
  if (part === undefined) throw new Error(`unknown part "${name}"; known: ${Object.keys(parts).join(', ')}`)
  loads[name] = Number(os.loadavg()[0]?.toFixed(1))
  console.log(`${name}, load ${loads[name]}`)
  for (const args of part[size])
    for (const figure of await run(name, args)) {
      figures.push({ ...figure, reached: isReached(figure) })
      console.log(`  ${formatNumber(figure)}`)
    }
}
const command = `npm run bench:kernel -- --parts ${values.parts} --size ${size}`
if (values.json !== undefined)
  writeFileSync(values.json, `${JSON.stringify({ command, machine, loads, figures }, undefined, 1)}\n`)
process.exitCode = figures.every(({ reached }) => reached) ? 0 : 1

async function run(part: string, args: readonly string[]): Promise<LimitedFigure[]> {
  const file = fileURLToPath(new URL(`${part}.ts`, import.meta.url))
  // Makes the resident memory of a process what it needs: garbage is collected when a part requests it, the heaps of its threads keep their
  // size, and large blocks are returned to the system when they are freed.
  const heaps = ['memory', 'empty', 'process'].includes(part) ? ['--expose-gc', '--max-semi-space-size=1'] : []
  const child = spawn(process.execPath, [...process.execArgv, ...heaps, file, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, MALLOC_MMAP_THRESHOLD_: '131072' },
  })
  const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  if (code !== 0) throw new Error(`${part} ${args.join(' ')} exited with code ${code}`)
  return JSON.parse(said) as LimitedFigure[]
}

function formatNumber(figure: LimitedFigure): string {
  const { name, value, unit, more, limit } = figure
  const text = `${name}: ${value >= 1000 ? value.toFixed(0) : value.toPrecision(4)} ${unit}`
  if (limit === undefined) return text
  return `${text} (${more === 'better' ? 'at least' : 'at most'} ${limit}${isReached(figure) ? '' : ', MISSED'})`
}
