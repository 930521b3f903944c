import 'uplot/dist/uPlot.min.css'
import './styles/base.css'
import './styles/layout.css'
import './styles/parts.css'
import './styles/controls.css'
import './styles/shown.css'
import './styles/layers.css'
import './styles/pages.css'
import './styles/log.css'
import './theme.ts'
import { render } from 'preact'
import { App } from './app.tsx'

render(<App />, document.getElementById('app') as HTMLElement)
