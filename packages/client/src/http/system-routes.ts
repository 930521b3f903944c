// The operations on the server itself, and its license.
import type { ProviderInfo, SettingInfo, SystemOperations } from '../operations.ts'
import { list, number, object, parseJson, parseObject, text } from './read.ts'
import { get, post, type Routes, sentence } from './route.ts'

/** The operations on health, statistics, settings, and metrics, for `routedTransport`. */
export const systemRoutes: Routes<keyof SystemOperations> = {
  health: {
    retry: 'never',
    reads: 'none',
    request: () => get('/api/v2/health'),
    answers: (status) => status === 503,
    reply: ({ text }) => {
      const { status, ...details } = parseObject(parseJson(text))
      return { status: typeof status === 'string' ? status : 'unknown', details }
    },
  },
  stats: {
    retry: 'always',
    reads: 'none',
    request: () => get('/api/v2/stats'),
    reply: ({ text }) => parseObject(parseJson(text)),
  },
  info: {
    retry: 'always',
    reads: 'none',
    request: () => get('/api/v2/info'),
    reply: ({ text }) => parseObject(parseJson(text)),
  },
  providers: {
    retry: 'always',
    reads: 'none',
    request: () => get('/api/v2/providers'),
    reply: (reply) => list(object(parseJson(reply.text), 'reply').providers, 'providers').map(provider),
  },
  configuration: {
    retry: 'always',
    reads: 'none',
    request: () => get('/api/v2/configuration'),
    reply: (reply) => list(object(parseJson(reply.text), 'reply').settings, 'settings').map(setting),
  },
  metrics: {
    retry: 'always',
    reads: 'none',
    request: () => ({ method: 'GET', path: '/metrics', accept: 'text/plain' }),
    reply: ({ text }) => text,
  },
  logs: {
    retry: 'always',
    reads: 'none',
    request: ({ limit }) => get(`/api/v2/logs${limit === undefined ? '' : `?limit=${limit}`}`),
    reply: (reply) => list(object(parseJson(reply.text), 'reply').lines, 'lines').map((line) => text(line, 'line')),
  },
  generateLicense: {
    retry: 'when-refused',
    request: ({ email }) => post('/api/v2/license/generate', { email }),
    reply: (reply) => text(object(parseJson(reply.text), 'reply').message, 'message'),
  },
  validateLicense: {
    retry: 'when-refused',
    request: ({ contents }) => ({
      method: 'POST',
      path: '/api/v2/license/validate',
      body: contents,
      contentType: 'text/plain',
      accept: sentence,
    }),
    reply: (reply) => text(object(parseJson(reply.text), 'reply').message, 'message'),
  },
}

function setting(value: unknown): SettingInfo {
  const { name, value: inUse, fallback, meaning } = object(value, 'setting')
  return {
    name: text(name, 'name'),
    value: text(inUse, 'value'),
    fallback: text(fallback, 'fallback'),
    meaning: text(meaning, 'meaning'),
  }
}

function provider(value: unknown): ProviderInfo {
  const { name, kind, model, dimension } = object(value, 'provider')
  return {
    name: text(name, 'name'),
    kind: text(kind, 'kind'),
    model: text(model, 'model'),
    dimension: number(dimension, 'dimension'),
  }
}
