// Writes the brotli and gzip forms of each built file next to it, so that the server never compresses.
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Plugin } from 'vite'

export function precompress(): Plugin {
  return {
    name: 'annal-precompress',
    apply: 'build',
    enforce: 'post',
    generateBundle: {
      // After Vite's own plugins, which still change the code of lazy parts in this hook.
      order: 'post',
      handler(_options, bundle) {
        for (const file of Object.values(bundle)) {
          const source = Buffer.from(file.type === 'chunk' ? file.code : file.source)
          this.emitFile({ type: 'asset', fileName: `${file.fileName}.br`, source: brotli(source) })
          this.emitFile({ type: 'asset', fileName: `${file.fileName}.gz`, source: gzipSync(source, { level: 9 }) })
        }
      },
    },
  }
}

function brotli(source: Buffer): Buffer {
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY }
  return brotliCompressSync(source, { params })
}
