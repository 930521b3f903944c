// Short notices in a corner, read out by screen readers.
import { signal } from '@preact/signals'
import { Said } from './stored.tsx'

interface Toast {
  readonly number: number
  readonly text: string
  readonly bad: boolean
}

const toasts = signal<readonly Toast[]>([])
const shownMs = 4_500
let newest = 0

export function tell(text: string, { bad = false }: { readonly bad?: boolean } = {}): void {
  newest += 1
  const toast = { number: newest, text, bad }
  toasts.value = [...toasts.value.slice(-3), toast]
  setTimeout(() => {
    toasts.value = toasts.value.filter((other) => other !== toast)
  }, shownMs)
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ number, text, bad }) => (
        <div key={number} class={`toast ${bad ? 'bad' : ''}`}>
          <Said text={text} />
        </div>
      ))}
    </div>
  )
}

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    tell('Copied.')
  } catch {
    tell('The browser does not allow copying here. Select the text instead.', { bad: true })
  }
}
