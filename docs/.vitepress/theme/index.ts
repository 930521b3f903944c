// The default look without fonts to fetch, wider columns, pictures that fit them, the version, and programs that run in the browser.
import type { Theme } from 'vitepress'
import DefaultTheme from 'vitepress/theme-without-fonts'
import { h } from 'vue'
import './annal.css'
import { TryIt } from './try-it.ts'
import { VersionMenu } from './version-menu.ts'

const theme: Theme = {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'nav-bar-content-after': () => h(VersionMenu) }),
  enhanceApp({ app }) {
    app.component('TryIt', TryIt)
  },
}

export default theme
