// Text to copy: JSON, snippets and tokens.
import { Icon } from './icon.tsx'
import { copyText } from './toast.tsx'
import { visible } from './visible.ts'

export function CopyButton({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) {
  return (
    <button type="button" class="compact" onClick={() => void copyText(text)}>
      <Icon name="copy" size={13} /> {label}
    </button>
  )
}

const rowsMax = 28

/** Read-only, but focusable, so that the keyboard can scroll and select. */
export function Code({
  text,
  label,
  rows = rowsMax,
}: {
  readonly text: string
  readonly label: string
  readonly rows?: number
}) {
  const lines = text.split('\n').length
  return (
    <textarea class="codeblock" readOnly aria-label={label} value={text} rows={Math.min(rows, Math.max(2, lines))} />
  )
}

export function prettyJson(value: unknown): string {
  return visible(JSON.stringify(value, null, 2) ?? '')
}
