// Which node leaves service when digests differ: the one in the minority, and at a tie one that does not lead.
import { test } from 'tap'
import { digestVerdict } from '../../src/cluster/digest-verdict.ts'

const state = (lsn: number, digest: string, part = 1) => ({ part, lsn, digest, ...(part > 0 && { name: 'things' }) })
const own = [state(3, 'aa', 0), state(10, 'a'), state(20, 'b')]

test('equal digests, and states that only one node has', async (t) => {
  const others = [
    { node: 'n1', digests: [state(10, 'a'), state(15, 'x')] },
    { node: 'n2', digests: [] },
  ]
  t.strictSame(digestVerdict({ node: 'n0', own, others, leader: 'n1' }), { lsnEqual: 10, isTie: false })
  t.strictSame(digestVerdict({ node: 'n0', own: [], others, leader: 'n1' }), { lsnEqual: 0, isTie: false })
})

test('a node in the minority leaves, also if it leads', async (t) => {
  const others = ['n1', 'n2'].map((node) => ({ node, digests: [state(10, 'a'), state(20, 'c')] }))
  for (const leader of ['n0', 'n1', undefined])
    t.match(digestVerdict({ node: 'n0', own, others, leader }), {
      lsnEqual: 10,
      isTie: false,
      differs:
        'collection "things" differs after record 20: digest b on this node, c on n1, n2; the digests after record 10 were equal, so look at records 11 to 20',
    })
  const ofMajority = { node: 'n1', own: [state(10, 'a'), state(20, 'c')], leader: 'n0' }
  const [, n2] = others
  if (n2 === undefined) throw new Error('there are two')
  t.strictSame(digestVerdict({ ...ofMajority, others: [{ node: 'n0', digests: own }, n2] }), {
    lsnEqual: 10,
    isTie: false,
  })
})

test('at a tie, nodes with the digest of the leader stay', async (t) => {
  const others = [{ node: 'n1', digests: [state(3, 'ab', 0)] }]
  const stays = { lsnEqual: 0, isTie: false }
  t.strictSame(digestVerdict({ node: 'n0', own, others, leader: 'n0' }), stays)
  t.strictSame(digestVerdict({ node: 'n0', own, others, leader: undefined }), stays)
  t.match(digestVerdict({ node: 'n0', own, others, leader: 'n1' }), {
    isTie: true,
    differs:
      /^the catalog differs after record 3: .* no earlier digest was compared, .* it is unknown which digest is right; n1 leads$/,
  })
  const three = [...others, { node: 'n2', digests: [state(3, 'ac', 0)] }]
  t.match(digestVerdict({ node: 'n0', own, others: three, leader: 'n1' }), {
    isTie: true,
    differs: / ab on n1 and ac on n2;/,
  })
  t.strictSame(digestVerdict({ node: 'n0', own, others: three, leader: 'n0' }), stays)
})
