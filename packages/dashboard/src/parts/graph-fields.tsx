// Inputs for the parameters of a graph.
import { NumberField } from './form.tsx'

export interface GraphChoice {
  readonly M?: number | undefined
  readonly ef?: number | undefined
}

export function GraphFields(props: {
  readonly chosen: GraphChoice
  /** The values in effect when nothing is entered. */
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
        hint="Higher: better recall, more memory."
        onInput={(M) => onChange({ M })}
      />
      <NumberField
        label="ef (construction)"
        value={chosen.ef}
        min={8}
        max={4_096}
        placeholder={String(fallback.ef)}
        hint="Higher: better graph, slower build."
        onInput={(ef) => onChange({ ef })}
      />
    </div>
  )
}
