// A filter as it is sent.
import type { Filter } from '../../api/objects.ts'
import { Json } from '../../parts/stored.tsx'

export function Written({ filter }: { readonly filter: Filter }) {
  return (
    <pre class="written">
      <Json value={filter} max={Number.POSITIVE_INFINITY} />
    </pre>
  )
}
