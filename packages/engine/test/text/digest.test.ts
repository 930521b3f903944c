// One text gives the same tokens on every Node.js. This runs on the one that runs the tests; scripts/node-versions.ts runs it on all.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'tap'
import { corpusDigest, digestOfVersion1 } from './corpus.ts'
import { makeTextLog, replayedTextLog } from './text-log.ts'

test('texts of all scripts give the committed digest', (t) => {
  t.equal(corpusDigest(), digestOfVersion1, 'tokens changed: that needs a new version of the analyzer')
  t.end()
})

test('the digest does not depend on what was analyzed before', (t) => {
  t.equal(corpusDigest(), corpusDigest())
  t.end()
})

test('a log of texts of all scripts and languages gives the same state when it is replayed', async (t) => {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'annal-text-log-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const dataDir = path.join(dir, 'data')
  const digests = await makeTextLog(dataDir)
  rmSync(path.join(dataDir, 'checkpoints'), { recursive: true })
  t.equal(await replayedTextLog(dataDir), digests)
})

test('the analyzer asks nothing that changes with the ICU of Node.js', (t) => {
  const changing = /\bIntl\b|toLowerCase|toUpperCase|toLocale|localeCompare|normalize\(|\\p\{/
  const folder = new URL('../../src/text/', import.meta.url)
  const files = readdirSync(folder)
  t.ok(files.includes('analyzer.ts'))
  for (const file of files) {
    const found = changing.exec(readFileSync(new URL(file, folder), 'utf8'))
    t.equal(found, null, `${file} has ${found?.[0]}`)
  }
  t.end()
})
