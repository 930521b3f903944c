// The default look without fonts to fetch, and pictures that are as wide as their column.
import DefaultTheme from 'vitepress/theme-without-fonts'
import './pictures.css'

export default DefaultTheme
