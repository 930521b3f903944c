// The ways in: without a token, with a wrong one, with the right one; where the token is kept and where it never is.
import { test } from 'tap'
import { browserFor, openPage, skip } from './browser.ts'
import { realServer } from './real-server.ts'
import { root, signIn, startTrial, submit } from './steps.ts'

const token = 'a-token-of-enough-characters'

test('a token is asked for, a wrong one is refused, the right one opens and stays in the tab', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const address = await realServer(t, { NDD_AUTH_TOKEN: token })
  const seen = await openPage(await browserFor(t), address, { expectedStatus: 401 })
  const asked: string[] = []
  seen.page.on('request', (request) => asked.push(request.url()))
  await seen.sees('This server asks for a token')
  await seen.picture('sign-in')
  t.strictSame(await seen.barriers(), [])
  await signIn(seen, 'a-wrong-token')
  await seen.sees('invalid_token')
  await seen.sees('Send a valid token.')
  await seen.picture('sign-in-wrong')

  await signIn(seen, token)
  await seen.sees('No collections yet')
  await seen.page.reload()
  await seen.sees('No collections yet')
  const kept = await seen.page.evaluate(() => ({
    session: JSON.stringify(sessionStorage),
    local: JSON.stringify(localStorage),
    cookie: document.cookie,
    address: location.href,
  }))
  t.match(kept.session, token, 'remembered for this tab')
  t.notMatch(kept.local + kept.cookie + kept.address, token)
  t.notMatch(asked.join(' '), token, 'in no address that was asked')

  await seen.click('Sign out')
  await seen.sees('This server asks for a token')
  t.notMatch(await seen.page.evaluate(() => JSON.stringify(sessionStorage)), token)
  await seen.tick('Remember until this tab is closed')
  await signIn(seen, token)
  await seen.sees('No collections yet')
  await seen.page.reload()
  await seen.sees('This server asks for a token')
  t.strictSame(seen.faults, [])
})

test('with a trial the root token makes databases, whose tokens open them and nothing else', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const address = await realServer(t, { NDD_ROOT_TOKEN: root })
  const browser = await browserFor(t)
  const seen = await openPage(browser, address, { expectedStatus: 401 })
  await signIn(seen, root)
  await seen.sees('No active licence')
  await seen.follow('Licence')
  await seen.sees('Until a licence is active')
  await seen.picture('licence-none')
  t.strictSame(await seen.barriers(), [])
  const sent = seen.page.waitForRequest((request) => request.url().endsWith('/license/generate'))
  await startTrial(seen)
  t.equal((await sent).headers().authorization, root, 'the trial is started with the root token')
  await seen.sees('Licence id')
  await seen.picture('licence')
  await seen.follow('Databases')
  await seen.click('New database')
  await submit(seen, { Name: 'library' }, 'Create database', 'It is shown this once')
  const made = await seen.page.$eval('dialog textarea', (area) => (area as HTMLTextAreaElement).value)
  t.match(made, /^library:/)
  await seen.click('I have kept it')
  await seen.sees('library')
  await seen.picture('databases')
  t.strictSame(await seen.barriers(), [])

  const phone = await openPage(browser, address, { theme: 'dark', width: 390, height: 844, expectedStatus: 401 })
  await signIn(phone, root)
  for (const [name, text] of [
    ['databases', 'library'],
    ['licence', 'Licence id'],
  ] as const) {
    await phone.go(`#/${name}`)
    await phone.sees(text)
    await phone.picture(`${name}-phone`)
    t.strictSame(await phone.barriers(), [], name)
    const wide = await phone.page.evaluate(() => document.documentElement.scrollWidth)
    t.ok(wide <= 390, `${name} fits the phone (${wide})`)
  }
  t.strictSame(phone.faults, [])

  const member = await openPage(browser, address, { expectedStatus: 401 })
  await signIn(member, made)
  await member.sees('New collection')
  await member.follow('New collection')
  await submit(member, { Name: 'books' }, 'Create collection', 'Collection books created.')
  t.notOk(await member.page.$('a[href="#/databases"]'), 'a database administers no databases')
  t.strictSame(member.faults, [])
  t.strictSame(seen.faults, [])
})
