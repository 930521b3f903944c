// Inputs with labels. Each label belongs to its input, and an error is shown next to it.
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { visible } from './visible.ts'

interface Labeled {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly error?: string | undefined
  /** For long texts: twice as wide as the other columns. */
  readonly wide?: true
}

export function TextField(
  props: Labeled & {
    readonly value: string
    readonly onInput: (value: string) => void
    readonly type?: 'text' | 'password' | 'datetime-local'
    readonly placeholder?: string
    readonly autocomplete?: string
    readonly focus?: boolean
    readonly required?: boolean
    readonly list?: readonly string[]
    /** For text in a language, whose direction the text decides. */
    readonly prose?: true
  },
) {
  const id = useId()
  return (
    <Labels {...props} id={id}>
      <input
        id={id}
        ref={props.focus ? focusOnce : null}
        // The types distinguish inputs by kind; several kinds share these attributes.
        type={(props.type ?? 'text') as 'text'}
        dir={props.prose && 'auto'}
        value={props.value}
        placeholder={props.placeholder}
        autocomplete={props.autocomplete ?? 'off'}
        spellcheck={false}
        required={props.required}
        aria-invalid={props.error !== undefined}
        aria-describedby={`${id}-about`}
        list={props.list === undefined ? undefined : `${id}-list`}
        onInput={(event) => props.onInput(event.currentTarget.value)}
      />
      {props.list && (
        <datalist id={`${id}-list`}>
          {props.list.map((item) => (
            <option key={item} value={item} />
          ))}
        </datalist>
      )}
    </Labels>
  )
}

export function NumberField(
  props: Labeled & {
    readonly value: number | undefined
    readonly onInput: (value: number | undefined) => void
    readonly min?: number
    readonly max?: number
    readonly step?: number | 'any'
    readonly placeholder?: string
    readonly required?: boolean
  },
) {
  const id = useId()
  return (
    <Labels {...props} id={id}>
      <input
        id={id}
        class="num"
        type="number"
        inputMode="decimal"
        value={props.value ?? ''}
        min={props.min}
        max={props.max}
        step={props.step ?? 1}
        placeholder={props.placeholder}
        required={props.required}
        aria-describedby={`${id}-about`}
        onInput={({ currentTarget }) =>
          props.onInput(currentTarget.value === '' ? undefined : Number(currentTarget.value))
        }
      />
    </Labels>
  )
}

export function SelectField<T extends string>(
  props: Labeled & {
    readonly value: T
    readonly options: readonly (T | readonly [T, string])[]
    readonly onInput: (value: T) => void
  },
) {
  const id = useId()
  return (
    <Labels {...props} id={id}>
      <select
        id={id}
        value={props.value}
        aria-describedby={`${id}-about`}
        onInput={(event) => props.onInput(event.currentTarget.value as T)}
      >
        {props.options.map((option) => {
          const [value, text] = typeof option === 'string' ? [option, option] : option
          return (
            <option key={value} value={value}>
              {visible(text)}
            </option>
          )
        })}
      </select>
    </Labels>
  )
}

export function TextArea(
  props: Labeled & {
    readonly value: string
    readonly onInput: (value: string) => void
    readonly rows?: number
    readonly placeholder?: string
    /** For text in a language, whose direction the text decides. */
    readonly prose?: true
  },
) {
  const id = useId()
  return (
    <Labels {...props} id={id}>
      <textarea
        id={id}
        class={props.prose && 'prose'}
        dir={props.prose && 'auto'}
        rows={props.rows ?? 5}
        value={props.value}
        placeholder={props.placeholder}
        spellcheck={false}
        aria-invalid={props.error !== undefined}
        aria-describedby={`${id}-about`}
        onInput={(event) => props.onInput(event.currentTarget.value)}
      />
    </Labels>
  )
}

export function Check(props: {
  readonly label: string
  readonly hint?: string
  readonly checked: boolean
  readonly onInput: (checked: boolean) => void
}) {
  const id = useId()
  return (
    <div class="check">
      <input
        id={id}
        type="checkbox"
        checked={props.checked}
        aria-describedby={props.hint === undefined ? undefined : `${id}-about`}
        onInput={(event) => props.onInput(event.currentTarget.checked)}
      />
      <label for={id}>{props.label}</label>
      {props.hint !== undefined && (
        <span id={`${id}-about`} class="hint">
          {props.hint}
        </span>
      )}
    </div>
  )
}

export function Segmented<T extends string>(props: {
  readonly label: string
  readonly value: T
  readonly options: readonly (readonly [T, string])[]
  readonly onInput: (value: T) => void
}) {
  return (
    <fieldset class="segmented-set" aria-label={props.label}>
      <div class="segmented">
        {props.options.map(([value, text]) => (
          <button
            key={value}
            type="button"
            class="compact"
            aria-pressed={value === props.value}
            onClick={() => props.onInput(value)}
          >
            {text}
          </button>
        ))}
      </div>
    </fieldset>
  )
}

function Labels(props: Labeled & { readonly id: string; readonly children: ComponentChildren }) {
  return (
    <div class={props.wide ? 'field wide' : 'field'}>
      <label for={props.id}>{visible(props.label)}</label>
      {props.children}
      <div id={`${props.id}-about`} class="hint" hidden={props.hint === undefined && props.error === undefined}>
        {props.error === undefined ? props.hint : <span class="bad">{props.error}</span>}
      </div>
    </div>
  )
}

function focusOnce(element: HTMLInputElement | null): void {
  element?.focus()
}
