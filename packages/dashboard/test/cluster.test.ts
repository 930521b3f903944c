// The page of a cluster, against real servers whose knowledge of the cluster the test sets (http-nodes.ts).
import tap, { test } from 'tap'
import { browserFor, openPage, skip, type Watched } from './browser.ts'
import { type ClusterNode, clusterNodes } from './cluster-nodes.ts'
import { realServer } from './real-server.ts'
import { signIn } from './steps.ts'

// A loaded machine is slow.
tap.setTimeout(300_000)

const token = 'the-right-token-0123456789'

test('the page shows every node, what needs attention, and hands the lead on', { skip }, async (t) => {
  const { nodes, lead } = await clusterNodes(t, { count: 3, authToken: token })
  const [first, second, third] = nodes as [ClusterNode, ClusterNode, ClusterNode]
  const seenMsAgo = new Map<ClusterNode, number>()
  for (const { view } of nodes)
    view.others = () =>
      nodes.map((node) => ({ ...node.view.status(), url: node.url, seenMsAgo: seenMsAgo.get(node) ?? 1_500 }))
  second.view.lag = 1_234
  second.view.stalenessMs = 41
  third.view.stalenessMs = Number.POSITIVE_INFINITY
  first.view.failovers = 7
  first.view.version = '0.1.0'
  first.view.digestLsn = 1_230
  second.view.digestLsn = 1_230
  const browser = await browserFor(t)
  const seen = await openPage(browser, first.url, { expectedStatus: 401 })
  await signIn(seen, token)
  await seen.follow('Cluster')
  await seen.sees('Takes writes.')
  t.strictSame(await rowsOf(seen), [
    ['node-0 (this node)', 'leader', '0.1.0', '1', '0', '0 ms', '1,230', 'now', first.url, ''],
    ['node-1', 'follower', 'not announced', '1', '1,234', '41 ms', '1,230', '1.5 s ago', second.url, ''],
    ['node-2', 'follower', 'not announced', '1', '0', 'not known yet', 'not compared yet', '1.5 s ago', third.url, ''],
  ])
  const text = await textOf(seen)
  t.match(text, '7 since this node started')
  t.match(text, 'LSN 1,230')
  t.match(text, 'sync not verified')
  t.match(text, 'NDD_CLUSTER_MONITOR_URL')
  t.notMatch(text, 'No leader')
  await seen.picture('cluster-light')
  t.strictSame(await seen.barriers(), [])
  t.match(await seen.page.$$eval('main td a', (links) => links.map((link) => link.href)), [
    `${second.url}/#/cluster`,
    `${third.url}/#/cluster`,
  ])

  // Changes appear without a reload.
  first.view.syncInterval = 'always'
  third.view.role = 'out-of-service'
  third.view.reason = 'the log was rolled back'
  seenMsAgo.set(second, 40_000)
  await seen.sees('node-2 is out of service: the log was rolled back')
  await seen.sees('syncs every message')
  await seen.sees('silent, was follower')
  await seen.picture('cluster-attention')

  first.view.stepsDown = () => lead(1)
  await seen.click('Step down')
  await seen.sees('Writes are rejected until another node leads')
  t.strictSame(await seen.barriers(), [])
  await seen.click('Cancel')
  await seen.page.waitForFunction(() => document.querySelector('dialog') === null)
  t.equal(first.view.role, 'leader', 'the lead stays until the step is confirmed')
  await seen.click('Step down')
  await seen.click('Hand over the lead')
  await seen.sees('node-0 no longer leads. node-1 does.')
  await seen.sees('Has everything and answers reads.')
  t.equal(second.view.role, 'leader')
  t.notMatch(await buttonsOf(seen), 'Step down', 'only the leader steps down')

  // A candidate has taken the lease, and does not take writes yet.
  first.view.known = { node: first.name, url: first.url }
  first.view.role = 'candidate'
  first.view.syncInterval = 'weak'
  first.view.stalenessMs = 25_000
  await seen.sees('No leader: writes are rejected.')
  await seen.sees('does not sync every message')
  await seen.sees('node-0 last had everything 25.0 s ago.')

  await seen.page.setViewport({ width: 390, height: 844 })
  await seen.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }])
  await seen.page.evaluate(() => Object.defineProperty(document, 'hidden', { value: true, configurable: true }))
  let requests = 0
  seen.page.on('request', (request) => {
    if (request.url().endsWith('/api/v2/cluster')) requests++
  })
  first.view.known = undefined
  // Longer than the time between two requests.
  await seen.page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 2_500)))
  t.equal(requests, 0, 'a hidden tab sends no request')
  await seen.page.evaluate(() => Object.defineProperty(document, 'hidden', { value: false }))
  await seen.sees('none known')
  await seen.sees('No leader: writes are rejected.')
  await seen.picture('cluster-phone')
  t.strictSame(await seen.barriers(), [])
  t.ok((await seen.page.evaluate(() => document.documentElement.scrollWidth)) <= 390, 'the page fits the phone')
  t.strictSame(seen.faults, [])
})

test('a node that is out of service shows its cluster and the reason, after the sign-in', { skip }, async (t) => {
  const { nodes } = await clusterNodes(t, { count: 2, authToken: token })
  const [first, second] = nodes as [ClusterNode, ClusterNode]
  for (const { view } of nodes)
    view.others = () => nodes.map(({ view, url }) => ({ ...view.status(), url, seenMsAgo: 1_500 }))
  second.view.role = 'out-of-service'
  second.view.reason = 'collection "films" differs after record 7'
  const seen = await openPage(await browserFor(t), second.url, { expectedStatus: [401, 503] })
  await signIn(seen, 'the-wrong-token-0123456789')
  await seen.sees('Invalid token.')
  await signIn(seen, token)
  await seen.sees('node-1 is out of service: collection "films" differs after record 7')
  t.match(await rowsOf(seen), [
    ['node-0', 'leader'],
    ['node-1 (this node)', 'out-of-service'],
  ])
  t.match(await textOf(seen), first.url)
  await seen.picture('cluster-out-of-service')
  t.strictSame(await seen.barriers(), [])
  await seen.page.reload()
  await seen.sees('node-1 is out of service')
  second.view.role = 'follower'
  await seen.sees('Collections')
  t.strictSame(seen.faults, [])
})

test('a single server has no page of a cluster', { skip }, async (t) => {
  const address = await realServer(t)
  const seen = await openPage(await browserFor(t), address, { expectedStatus: 404 })
  // The navigation is complete when health has replied.
  await seen.sees('ok ·')
  t.equal(await seen.page.$('nav a[href="#/cluster"]'), null)
  await seen.go('#/cluster')
  await seen.sees('This server is not a node of a cluster.')
  t.strictSame(await seen.barriers(), [])
  t.strictSame(seen.faults, [])
})

function rowsOf({ page }: Watched): Promise<string[][]> {
  return page.$$eval('main tbody tr', (rows) =>
    rows.map(({ cells }) => [...cells].map(({ textContent }) => textContent.trim())),
  )
}

function textOf({ page }: Watched): Promise<string> {
  return page.$eval('main', ({ textContent }) => textContent)
}

function buttonsOf({ page }: Watched): Promise<string> {
  return page.$$eval('main button', (buttons) => buttons.map(({ textContent }) => textContent).join(' '))
}
