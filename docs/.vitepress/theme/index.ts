// The default look without fonts to fetch, wider columns, and pictures that fit them.
import DefaultTheme from 'vitepress/theme-without-fonts'
import './annal.css'

export default DefaultTheme
