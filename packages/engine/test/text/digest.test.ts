// One text gives the same tokens on every Node.js. This runs on the one that runs the tests; scripts/node-versions.ts runs it on all.
import { test } from 'tap'
import { corpusDigest, digestOfVersion1 } from './corpus.ts'

test('texts of all scripts give the committed digest', (t) => {
  t.equal(corpusDigest(), digestOfVersion1, 'tokens changed: that needs a new version of the analyzer')
  t.end()
})

test('the digest does not depend on what was analyzed before', (t) => {
  t.equal(corpusDigest(), corpusDigest())
  t.end()
})
