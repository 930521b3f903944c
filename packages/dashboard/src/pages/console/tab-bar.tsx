// The requests that are open, as tabs: arrows move between them, Delete closes one.
import { useRef } from 'preact/hooks'
import { Icon } from '../../parts/icon.tsx'
import { type ConsoleTab, tabsMax } from './console-store.ts'

export function TabBar(props: {
  readonly tabs: readonly ConsoleTab[]
  readonly current: number
  readonly panelId: string
  readonly onChoose: (number: number) => void
  readonly onAdd: () => void
  readonly onClose: (number: number) => void
}) {
  const { tabs, current } = props
  const list = useRef<HTMLDivElement>(null)
  const focusCurrent = () =>
    requestAnimationFrame(() => list.current?.querySelector<HTMLElement>('[aria-selected=true]')?.focus())
  const onKeyDown = (event: KeyboardEvent) => {
    const at = tabs.findIndex(({ number }) => number === current)
    const next = nextTab(event.key, at, tabs.length)
    if (next !== undefined) props.onChoose(tabs[next]!.number)
    else if (event.key === 'Delete' && tabs.length > 1) props.onClose(current)
    else return
    event.preventDefault()
    focusCurrent()
  }
  return (
    <div class="row together console-tabs">
      <div ref={list} class="request-tabs" role="tablist" aria-label="Requests" onKeyDown={onKeyDown}>
        {tabs.map(({ number, method, path }) => (
          <button
            key={number}
            type="button"
            role="tab"
            id={`${props.panelId}-${number}`}
            aria-selected={number === current}
            aria-controls={number === current ? props.panelId : undefined}
            tabIndex={number === current ? 0 : -1}
            title={`${method} ${path}`}
            onClick={() => props.onChoose(number)}
          >
            <span class="small">{method}</span> <bdi class="truncate mono">{shortPath(path)}</bdi>
          </button>
        ))}
      </div>
      {tabs.length > 1 && (
        <button
          type="button"
          class="plain icon compact"
          aria-label="Close this tab"
          title="Close this tab"
          onClick={() => props.onClose(current)}
        >
          <Icon name="close" size={13} />
        </button>
      )}
      <button
        type="button"
        class="plain icon compact"
        aria-label="New tab"
        title="New tab"
        disabled={tabs.length >= tabsMax}
        onClick={props.onAdd}
      >
        <Icon name="plus" size={13} />
      </button>
    </div>
  )
}

function nextTab(key: string, at: number, count: number): number | undefined {
  switch (key) {
    case 'ArrowLeft':
      return (at + count - 1) % count
    case 'ArrowRight':
      return (at + 1) % count
    case 'Home':
      return 0
    case 'End':
      return count - 1
    default:
      return undefined
  }
}

/** Without what all paths begin with. */
function shortPath(path: string): string {
  return path.replace(/^\/api\/v2\/(collection\/(?=.))?/, '') || path
}
