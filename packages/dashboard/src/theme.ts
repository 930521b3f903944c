// Light, dark, or the system setting; the choice is stored on this machine.
import { effect, signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const storageKey = 'annal.theme'
const themes: readonly Theme[] = ['system', 'light', 'dark']

export const theme = signal<Theme>(themes.find((name) => name === localStorage.getItem(storageKey)) ?? 'system')

export function nextTheme(): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length]!
  localStorage.setItem(storageKey, theme.value)
}

effect(() => {
  if (theme.value === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme.value
})
