// `node scripts/run.mjs benchmarks/src/replay/anonymized.ts`: whether an anonymized and rotated trace of a log gives the same figures as
// the log. Both are replayed alternately and compared by interval. `--objects N`, `--dimension N`, `--pairs N`, `--json FILE`. Exits with
// code 1 if recall differs by more than half a percent, or if the pairs agree on any other difference.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import { join } from 'node:path'
import {
  type Comparison,
  compareResults,
  engineTarget,
  generateTrace,
  openTrace,
  type ReplayResult,
  recordTrace,
  replayTrace,
} from '@annal/replay'
import { median } from '../ann/contender.ts'
import { readOptions } from '../options.ts'
import { loadDirectly } from './direct.ts'

const values = readOptions({ objects: 10_000, dimension: 128, pairs: 5, json: String })

const parent = mkdtempSync(join(os.tmpdir(), 'annal-anonymized-bench-'))
try {
  const live = join(parent, 'live')
  const made = join(parent, 'made.trace')
  const size = { objects: values.objects, dimension: values.dimension, batch: 100, seed: 1 }
  await generateTrace({ workload: 'churn', out: made, ...size, queriesPerThousand: 20 })
  await loadDirectly(await openTrace(made), live)
  const [plain, hidden] = [join(parent, 'plain.trace'), join(parent, 'hidden.trace')]
  await recordTrace({ dataDir: live, out: plain })
  await recordTrace({ dataDir: live, out: hidden, anonymize: { rotate: true } })
  const comparisons: Comparison[][] = []
  const recalls: { plain: number | undefined; anonymized: number | undefined }[] = []
  for (let pair = 0; pair < values.pairs; pair++) {
    // Every other pair runs in reverse order.
    const paths = pair % 2 === 0 ? [plain, hidden] : [hidden, plain]
    const results = [await replayFile(paths[0] as string), await replayFile(paths[1] as string)]
    const [a, b] = (pair % 2 === 0 ? results : results.reverse()) as [ReplayResult, ReplayResult]
    comparisons.push(compareResults(a, b))
    recalls.push({ plain: a.recall, anonymized: b.recall })
  }
  const figures = (comparisons[0] ?? []).map(({ measure }) => {
    const own = comparisons.flatMap((list) => list.filter((comparison) => comparison.measure === measure))
    const verdicts = own.map(({ verdict }) => verdict)
    return { measure, ratio: median(own.map(({ ratio }) => ratio)), verdicts }
  })
  const report = { machine: `${os.cpus()[0]?.model}, ${os.cpus().length} cores`, size, recalls, figures }
  console.log(JSON.stringify(report, undefined, 1))
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, undefined, 1)}\n`)
  const agreed = (verdict: string) =>
    figures.some(({ verdicts }) => verdicts.filter((one) => one === verdict).length > 0.75 * verdicts.length)
  const apart = recalls.some(({ plain: a = 0, anonymized: b = 0 }) => Math.abs(a - b) > 0.005)
  process.exitCode = apart || agreed('worse') || agreed('better') ? 1 : 0
} finally {
  rmSync(parent, { recursive: true, force: true })
}

async function replayFile(path: string): Promise<ReplayResult> {
  const dataDir = join(parent, 'replay')
  const target = await engineTarget({ dataDir })
  try {
    return await replayTrace(await openTrace(path), target, { stretches: 20, compared: 50 })
  } finally {
    await target.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}
