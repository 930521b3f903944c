// Light, dark, or the system setting; the choice is stored on this machine.
import { effect, signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const storageKey = 'annal.theme'
const themes: readonly Theme[] = ['system', 'light', 'dark']

const darkSystem = matchMedia('(prefers-color-scheme: dark)')

export const theme = signal<Theme>(themes.find((name) => name === localStorage.getItem(storageKey)) ?? 'system')

export function nextTheme(): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length]!
  localStorage.setItem(storageKey, theme.value)
}

/** The value of a CSS custom property in the current theme, because a canvas does not resolve light-dark(). */
export function themeColor(element: Element, name: string): string {
  const value = getComputedStyle(element).getPropertyValue(name).trim()
  const both = /^light-dark\((.+?),\s*(.+)\)$/.exec(value)
  if (both === null) return value
  const isDark = theme.value === 'dark' || (theme.value === 'system' && darkSystem.matches)
  return (isDark ? both[2] : both[1]) as string
}

/** Calls the listener when colors change, until the returned function is called. */
export function onColorScheme(listener: () => void): () => void {
  const stop = theme.subscribe(listener)
  darkSystem.addEventListener('change', listener)
  return () => {
    stop()
    darkSystem.removeEventListener('change', listener)
  }
}

effect(() => {
  if (theme.value === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme.value
})
