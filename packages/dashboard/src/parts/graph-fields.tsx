// The parameters of a graph, where they may be chosen.
import { NumberField } from './form.tsx'

export interface GraphChoice {
  readonly M?: number | undefined
  readonly ef?: number | undefined
}

export function GraphFields(props: {
  readonly chosen: GraphChoice
  /** What holds where nothing is chosen. */
  readonly fallback: { readonly M: number; readonly ef: number }
  readonly onChange: (choice: GraphChoice) => void
}) {
  const { chosen, fallback, onChange } = props
  return (
    <div class="columns">
      <NumberField
        label="M, links per node"
        value={chosen.M}
        min={4}
        max={512}
        placeholder={String(fallback.M)}
        hint="More: better recall, more memory."
        onInput={(M) => onChange({ M })}
      />
      <NumberField
        label="ef at construction"
        value={chosen.ef}
        min={8}
        max={4_096}
        placeholder={String(fallback.ef)}
        hint="More: better graph, slower to build."
        onInput={(ef) => onChange({ ef })}
      />
    </div>
  )
}
