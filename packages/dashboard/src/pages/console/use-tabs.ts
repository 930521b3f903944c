// The tabs of the console: the request of each, and which one is shown. The address may name a request, which opens in a tab of its own.
import { useEffect, useState } from 'preact/hooks'
import { go, href, parameters } from '../../address.ts'
import { type ConsoleRequest, type ConsoleTab, keepTabs, methods, newTab, readTabs, tabsMax } from './console-store.ts'

interface Tabs {
  readonly tabs: readonly ConsoleTab[]
  /** Number of the tab that is shown. */
  readonly shown: number
}

export function useTabs() {
  const wanted = parameters.value
  const path = wanted.get('path')
  const [{ tabs, shown }, setTabs] = useState<Tabs>(() => firstTabs())
  useEffect(() => keepTabs(tabs), [tabs])
  useEffect(() => {
    if (path === null) return
    const method = methods.find((name) => name === wanted.get('method')) ?? 'GET'
    setTabs((before) => opened(before, { method, path }))
    // Otherwise every visit would open another tab.
    go(href(['console']), { replace: true })
  }, [path])
  const current = tabs.find(({ number }) => number === shown) ?? tabs[0]!
  return {
    tabs,
    current,
    change: (to: Partial<ConsoleRequest>) =>
      setTabs((before) => ({
        ...before,
        tabs: before.tabs.map((tab) => (tab.number === current.number ? { ...tab, ...to } : tab)),
      })),
    open: (request: Partial<ConsoleRequest>) => setTabs((before) => opened(before, request)),
    close: (number: number) => setTabs((before) => closed(before, number)),
    choose: (number: number) => setTabs((before) => ({ ...before, shown: number })),
  }
}

function firstTabs(): Tabs {
  const kept = readTabs()
  const tabs = kept.length === 0 ? [newTab()] : kept
  return { tabs, shown: tabs.at(-1)!.number }
}

/** In a tab of its own, or instead of the one that is shown if there are too many or if that one is new. */
function opened({ tabs, shown }: Tabs, request: Partial<ConsoleRequest>): Tabs {
  const tab = newTab(request)
  const isNew = tabs.some(({ number, path, body }) => number === shown && path === newTab().path && body === '')
  const replaces = tabs.length >= tabsMax || (isNew && request.path !== undefined)
  if (!replaces) return { tabs: [...tabs, tab], shown: tab.number }
  return { tabs: tabs.map((one) => (one.number === shown ? tab : one)), shown: tab.number }
}

/** The last tab stays. */
function closed({ tabs, shown }: Tabs, number: number): Tabs {
  const at = tabs.findIndex((tab) => tab.number === number)
  const rest = tabs.filter((tab) => tab.number !== number)
  if (rest.length === 0) return { tabs, shown }
  return { tabs: rest, shown: number === shown ? rest[Math.min(at, rest.length - 1)]!.number : shown }
}
