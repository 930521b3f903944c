// `npm run bench:replay`: compares the cost of replaying a trace with that of the same changes made to an engine directly, and replays one
// trace with three precisions. Pairs alternate; the ratio is the median of the pairs. `--objects N`, `--dimension N`, `--pairs N`, `--json
// FILE`, `--html FILE` for the report of the precisions.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import { join } from 'node:path'
import type { Precision } from '@annal/engine'
import {
  engineTarget,
  generateTrace,
  type OpenTrace,
  openTrace,
  type ReplayResult,
  replayTrace,
  reportOf,
} from '@annal/replay'
import { readOptions } from '../options.ts'
import { loadDirectly } from './direct.ts'

const values = readOptions({
  objects: 20_000,
  dimension: 128,
  pairs: 5,
  json: String,
  html: String,
})

/** Minimum rate of a replay, as a share of the direct rate. */
const ratioFloor = 0.9

const parent = mkdtempSync(join(os.tmpdir(), 'annal-replay-bench-'))
try {
  const path = join(parent, 'churn.trace')
  const size = { objects: values.objects, dimension: values.dimension, batch: 100, seed: 1 }
  await generateTrace({ workload: 'churn', out: path, ...size, queriesPerThousand: 20 })
  const trace = await openTrace(path)
  const ratios: number[] = []
  for (let pair = 0; pair < values.pairs; pair++) {
    const dataDir = (name: string) => join(parent, `${name}-${pair}`)
    const direct = await loadDirectly(trace, dataDir('direct'))
    const { objectsPerSecond } = await replayOnce(trace, dataDir('replay'))
    ratios.push(objectsPerSecond / direct)
    console.log(JSON.stringify({ pair, direct: Math.round(direct), replayed: Math.round(objectsPerSecond) }))
    rmSync(dataDir('direct'), { recursive: true })
    rmSync(dataDir('replay'), { recursive: true })
  }
  const precisions: ReplayResult[] = []
  for (const precision of ['int8', 'int16', 'float32'] as const)
    precisions.push(await replayOnce(trace, join(parent, precision), precision))
  const ratio = ratios.sort((a, b) => a - b)[Math.floor(ratios.length / 2)] as number
  const shown = precisions.map(({ target, objectsPerSecond, recall }) => ({ target, objectsPerSecond, recall }))
  const { machine, trace: facts } = precisions[0] as ReplayResult
  const result = { ratio, ratios, precisions: shown, machine, trace: facts }
  console.log(JSON.stringify(result))
  if (values.json) writeFileSync(values.json, `${JSON.stringify(result, null, 1)}\n`)
  if (values.html) writeFileSync(values.html, reportOf(precisions))
  process.exitCode = ratio >= ratioFloor ? 0 : 1
} finally {
  rmSync(parent, { recursive: true, force: true })
}

async function replayOnce(trace: OpenTrace, dataDir: string, precision?: Precision): Promise<ReplayResult> {
  const target = await engineTarget({ dataDir, ...(precision !== undefined && { precision }) })
  try {
    return await replayTrace(trace, target, { stretches: 20, compared: 50 })
  } finally {
    await target.close()
  }
}
