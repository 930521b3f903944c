// The targets of the demo, and whether a run met them.
import { efDefault, type Figures } from './demo.ts'

export interface Verdict {
  readonly ok: boolean
  readonly text: string
}

const restartMsMax = 3_000

/** Times are judged only in a full run, because a small one shares its machine with other tests. */
export function judge(figures: Figures, { timed }: { readonly timed: boolean }): readonly Verdict[] {
  const { accuracy, crash, recallMin, restartMs } = figures
  const recall = accuracy.find(({ ef }) => ef === efDefault)?.recallAt10 ?? 0
  return [
    { ok: recall >= recallMin, text: `recall@10 at default settings ${recall.toFixed(4)}, at least ${recallMin}` },
    { ok: crash.lost === 0, text: `${crash.lost} acknowledged vectors lost` },
    {
      ok: crash.phantom === 0 && crash.torn === 0,
      text: `${crash.phantom} phantom vectors, ${crash.torn} torn batches`,
    },
    {
      ok: !timed || restartMs < restartMsMax,
      text: `restart to first exact answer ${restartMs.toFixed(0)} ms, ${timed ? `below ${restartMsMax} ms` : 'not judged in a quick run'}`,
    },
  ]
}
