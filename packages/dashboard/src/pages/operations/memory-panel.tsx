// Memory of all collections by part.
import { Panel } from '../../parts/panel.tsx'
import { bytes, sum } from '../../show.ts'
import { Parts } from '../collection/memory.tsx'
import type { Sample } from './metrics-text.ts'

export function MemoryPanel({ samples }: { readonly samples: readonly Sample[] }) {
  const parts = Object.fromEntries(
    samples
      .filter(({ name }) => name === 'annal_memory_bytes')
      .map(({ labels, value }) => [labels.part ?? 'other', value]),
  )
  const total = sum(parts)
  if (total === 0) return null
  return (
    <Panel title="Memory of all collections" actions={<span class="muted num">{bytes(total)}</span>}>
      <Parts memory={parts} />
    </Panel>
  )
}
