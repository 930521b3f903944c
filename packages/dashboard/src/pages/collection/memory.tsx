// Memory by part, largest first.
import type { Collection } from '../../api/collections.ts'
import { Panel } from '../../parts/panel.tsx'
import { Empty } from '../../parts/states.tsx'
import { bytes, bytesIn, share, sum } from '../../show.ts'

const colors = 12

export function Memory({ collection }: { readonly collection: Collection }) {
  const total = sum(collection.memory)
  return (
    <Panel title="Memory" actions={total > 0 && <span class="num muted">{bytes(total)}</span>}>
      {total === 0 ? <Empty title="No memory in use yet" /> : <Parts memory={collection.memory ?? {}} />}
    </Panel>
  )
}

export function Parts({ memory }: { readonly memory: { readonly [part: string]: number } }) {
  const parts = Object.entries(memory)
    .filter(([, size]) => size > 0)
    .sort(([, a], [, b]) => b - a)
  const total = sum(memory)
  const show = bytesIn(parts.map(([, size]) => size))
  const color = (i: number) => `var(--kind${(i % colors) + 1})`
  return (
    <div class="stack tight">
      <div class="shares" aria-hidden="true">
        {parts.map(([part, size], i) => (
          <span key={part} style={{ width: `${(size / total) * 100}%`, background: color(i) }} />
        ))}
      </div>
      <ul class="legend num">
        {parts.map(([part, size], i) => (
          <li key={part}>
            <span class="key" style={{ background: color(i) }} />
            <span class="grow">{worded(part)}</span>
            <span class="muted">{share(size / total)}</span>
            <span class="amount">{show(size)}</span>
          </li>
        ))}
      </ul>
    </div>
  )
}

/** Shows `idTable` as "id table". */
function worded(part: string): string {
  return part.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}
