// A setting: chosen from a list, then changed as JSON.
import type { Collection } from '../../api/collections.ts'
import { SelectField, TextArea } from '../../parts/form.tsx'
import { presetsOf } from './presets.ts'

const own = 'own'

export function SettingForm(props: {
  readonly side: 'A' | 'B'
  readonly collection: Collection
  readonly text: string
  readonly onInput: (text: string) => void
  readonly onRemove?: () => void
}) {
  const presets = presetsOf(props.collection)
  const chosen = presets.findIndex(({ text }) => text === props.text)
  return (
    <fieldset>
      <legend>{props.side}</legend>
      <div class="form">
        <SelectField
          label={`Setting ${props.side}`}
          value={chosen === -1 ? own : String(chosen)}
          options={[
            ...presets.map(({ name }, i) => [String(i), name] as const),
            ...(chosen === -1 ? [[own, 'as written below'] as const] : []),
          ]}
          onInput={(value) => {
            const preset = presets[Number(value)]
            if (preset !== undefined) props.onInput(preset.text)
          }}
        />
        <TextArea
          label={`Search ${props.side} as JSON`}
          rows={3}
          value={props.text}
          hint="A search without its queries: fields, filter, fusion, group_by, exact, rescore."
          onInput={props.onInput}
        />
        {props.onRemove && (
          <div>
            <button type="button" class="plain compact" onClick={props.onRemove}>
              Judge A alone
            </button>
          </div>
        )}
      </div>
    </fieldset>
  )
}
