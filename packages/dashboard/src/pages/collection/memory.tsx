// Memory by part, the largest first.
import type { Collection } from '../../api/collections.ts'
import { Panel } from '../../parts/panel.tsx'
import { Empty } from '../../parts/states.tsx'
import { bytes, percent, sum } from '../../show.ts'

const colours = 8

export function Memory({ of }: { readonly of: Collection }) {
  const total = sum(of.memory)
  return (
    <Panel title="Memory" actions={total > 0 && <span class="num muted">{bytes(total)}</span>}>
      {total === 0 ? <Empty title="Nothing held in memory yet" /> : <Parts of={of.memory ?? {}} />}
    </Panel>
  )
}

export function Parts({ of }: { readonly of: { readonly [part: string]: number } }) {
  const parts = Object.entries(of)
    .filter(([, size]) => size > 0)
    .sort(([, a], [, b]) => b - a)
  const total = sum(of)
  const colour = (i: number) => `var(--c${(i % colours) + 1})`
  return (
    <div class="stack tight">
      <div class="shares" aria-hidden="true">
        {parts.map(([part, size], i) => (
          <span key={part} style={{ width: `${(size / total) * 100}%`, background: colour(i) }} />
        ))}
      </div>
      <ul class="legend num">
        {parts.map(([part, size], i) => (
          <li key={part}>
            <span class="key" style={{ background: colour(i) }} />
            <span class="grow">{worded(part)}</span>
            <span class="muted">{percent(size / total)}</span>
            <span class="amount">{bytes(size)}</span>
          </li>
        ))}
      </ul>
    </div>
  )
}

/** `idTable` is told as "id table". */
function worded(part: string): string {
  return part.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}
