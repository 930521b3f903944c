// Keyboard shortcuts: g and a letter go to a page, other keys work on the page that is shown. Never while somebody types, and off if the
// user wants, as speech input needs. The dialog lists them.
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { go, href } from './address.ts'
import { isRecord, keptValue } from './kept.ts'
import { Dialog } from './parts/dialog.tsx'
import { Check } from './parts/form.tsx'
import { access } from './session.ts'
import { isClustered, serverInfo } from './watch.ts'

interface PageKey {
  readonly key: string
  readonly name: string
  readonly to: readonly string[]
  /** Whether the page exists for this server and token; absent: always. */
  readonly isThere?: () => boolean
}

const pageKeys: readonly PageKey[] = [
  { key: 'c', name: 'Collections', to: ['collections'] },
  { key: 't', name: 'Add texts', to: ['texts'] },
  { key: 'b', name: 'Backups', to: ['backups'] },
  { key: 'l', name: 'Log and time', to: ['log'] },
  { key: 'h', name: 'Changes', to: ['changes'] },
  { key: 'o', name: 'Operations', to: ['operations'] },
  { key: 'n', name: 'Cluster', to: ['cluster'], isThere: () => isClustered.value },
  { key: 'k', name: 'Console', to: ['console'] },
  { key: 'd', name: 'Databases', to: ['databases'], isThere: () => access.value.kind === 'root' },
  { key: 'i', name: 'License', to: ['license'], isThere: () => serverInfo.value?.mode === 'enterprise' },
]

const pagesThere = () => pageKeys.filter(({ isThere }) => isThere === undefined || isThere())

/** After g, the letter has so much time. */
const sequenceMs = 1_500

const kept = keptValue<{ readonly on: boolean }>(
  () => localStorage,
  'shortcuts',
  (stored) => ({ on: !(isRecord(stored) && stored.on === false) }),
)
const areOn = signal(kept.read().on)
const isListed = signal(false)

export function showShortcuts(): void {
  isListed.value = true
}

/** Listens to the keyboard, and shows the list on demand. */
export function Shortcuts() {
  useEffect(() => {
    let goneAt = Number.NEGATIVE_INFINITY
    const onKey = (event: KeyboardEvent) => {
      if (submits(event) || !areOn.value || isTaken(event)) return
      const isSecond = event.timeStamp - goneAt < sequenceMs
      goneAt = event.key === 'g' && !isSecond ? event.timeStamp : Number.NEGATIVE_INFINITY
      if (event.key === 'g' && !isSecond) return
      if (isSecond ? goTo(event.key) : act(event.key)) event.preventDefault()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  return isListed.value ? <ShortcutsDialog /> : null
}

/** Control or Command with Enter submits the form of a text area, where Enter begins a line. */
function submits({ key, ctrlKey, metaKey, target }: KeyboardEvent): boolean {
  if (key !== 'Enter' || !(ctrlKey || metaKey) || !(target instanceof HTMLTextAreaElement)) return false
  target.form?.requestSubmit()
  return true
}

/** Whether somebody types, or the browser, a control, or a dialog has the key. */
function isTaken(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return true
  if (document.querySelector('dialog[open]') !== null) return true
  const { target } = event
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.closest('input, textarea, select, [role=tablist]') !== null)
  )
}

function goTo(key: string): boolean {
  const page = pagesThere().find((one) => one.key === key)
  if (page !== undefined) go(href(page.to))
  return page !== undefined
}

function act(key: string): boolean {
  switch (key) {
    case '?':
      isListed.value = true
      return true
    case '/':
      return focusFirst()
    case '[':
      return stepTab(-1)
    case ']':
      return stepTab(1)
    default:
      return false
  }
}

/** The first text input of the page. */
function focusFirst(): boolean {
  const inputs = document.querySelectorAll<HTMLElement>(
    'main input:not([type=checkbox], [type=radio], [type=file], [type=range]), main textarea:not([readonly])',
  )
  const first = [...inputs].find((input) => input.checkVisibility())
  first?.focus()
  return first !== undefined
}

/** The tab of a collection before or after the current one. */
function stepTab(step: 1 | -1): boolean {
  const tabs = [...document.querySelectorAll<HTMLAnchorElement>('nav.tabs a')]
  const current = tabs.findIndex((tab) => tab.getAttribute('aria-current') === 'page')
  const next = tabs[(current + step + tabs.length) % tabs.length]
  if (next !== undefined) go(next.hash)
  return next !== undefined
}

const otherKeys: readonly (readonly [keys: readonly string[], what: string])[] = [
  [['/'], 'Go to the first input of the page'],
  [['['], 'Previous tab of a collection'],
  [[']'], 'Next tab of a collection'],
  [['Ctrl', 'Enter'], 'Submit the form of a text area'],
  [['?'], 'This list'],
]

function ShortcutsDialog() {
  const close = () => {
    isListed.value = false
  }
  const rows = [...otherKeys, ...pagesThere().map(({ key, name }) => [['g', key], name] as const)]
  return (
    <Dialog title="Keyboard shortcuts" onClose={close}>
      <div class="form">
        <Check
          label="Shortcuts of single keys"
          checked={areOn.value}
          hint="They never work while you type. Turn them off if speech input or another tool presses keys."
          onInput={(on) => {
            areOn.value = on
            kept.write({ on })
          }}
        />
        <dl class="facts shortcuts">
          {rows.map(([keys, what]) => (
            <>
              <dt>
                {keys.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dt>
              <dd>{what}</dd>
            </>
          ))}
        </dl>
      </div>
    </Dialog>
  )
}
