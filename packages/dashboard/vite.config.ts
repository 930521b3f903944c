import { defaultClientConditions, defineConfig } from 'vite'
import { cures } from './build/cures.ts'
import { precompress } from './build/precompress.ts'
import { sample } from './build/sample.ts'

export default defineConfig({
  base: './',
  resolve: { conditions: ['annal-source', ...defaultClientConditions] },
  build: {
    target: 'es2023',
    // Every file is loaded under the server's content security policy, which allows data: URLs only for images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  worker: { format: 'es' },
  plugins: [cures(), sample(), precompress()],
  server: { proxy: { '/api': 'http://127.0.0.1:8080', '/metrics': 'http://127.0.0.1:8080' } },
})
