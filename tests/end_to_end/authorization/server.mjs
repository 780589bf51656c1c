// oidc-provider with three clients, token exchange as in its documentation, and a login stub.
import { createServer } from 'node:http'
import { createLocalJWKSet, exportJWK, generateKeyPair, jwtVerify } from 'jose'
import { Provider, errors } from 'oidc-provider'

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'
const AUDIENCES = ['https://agent-a.example', 'https://agent-b.example']

const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true })
const key = { ...(await exportJWK(privateKey)), kid: 'one', alg: 'RS256', use: 'sig' }
const publicKeys = createLocalJWKSet({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256' }] })

const http = createServer((request, response) => answer(request, response))
await new Promise((listening) => http.listen(0, '127.0.0.1', listening))
const url = `http://127.0.0.1:${http.address().port}`

const client = (id, method, more) => ({
  client_id: id,
  token_endpoint_auth_method: method,
  grant_types: ['client_credentials', EXCHANGE],
  redirect_uris: [],
  response_types: [],
  scope: 'read write',
  ...more,
})

const provider = new Provider(url, {
  clients: [
    client('basic', 'client_secret_basic', { client_secret: process.env.CLIENT_SECRET }),
    client('post', 'client_secret_post', { client_secret: process.env.CLIENT_SECRET }),
    client('signing', 'private_key_jwt', {
      jwks: JSON.parse(process.env.CLIENT_KEYS),
      token_endpoint_auth_signing_alg: 'ES256',
    }),
  ],
  jwks: { keys: [key] },
  scopes: ['read', 'write'],
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (ctx, resource) => {
        if (!AUDIENCES.includes(resource)) throw new errors.InvalidTarget()
        return { scope: 'read write', audience: resource, accessTokenFormat: 'jwt', accessTokenTTL: 300 }
      },
    },
  },
  extraTokenClaims: (ctx, token) => token.extra,
})

const params = ['audience', 'resource', 'scope', 'subject_token', 'subject_token_type', 'requested_token_type']
provider.registerGrantType(EXCHANGE, exchange, params)

// Exchange a user's token for agent A, which the client is, for one for another agent.
async function exchange(ctx) {
  const { params: asked, client: by } = ctx.oidc
  if (asked.subject_token_type !== ACCESS_TOKEN) throw new errors.InvalidRequest('the type of the token is unknown')
  const wanted = { issuer: url, audience: AUDIENCES[0] }
  const { payload } = await jwtVerify(asked.subject_token, publicKeys, wanted).catch(() => {
    throw new errors.InvalidGrant('the token of the user is invalid')
  })
  const scopes = asked.scope?.split(' ') ?? []
  if (!scopes.every((scope) => payload.scope.split(' ').includes(scope))) throw new errors.InvalidScope('too much')
  const value = await issue(ctx, by, payload.sub, asked.audience ?? asked.resource, asked.scope, { act: { sub: by.clientId } })
  ctx.body = { access_token: value, issued_token_type: ACCESS_TOKEN, token_type: 'Bearer', expires_in: 300 }
}

async function issue(ctx, by, accountId, resource, scope, extra) {
  const token = new provider.AccessToken({ client: by, accountId, scope, extra, gty: 'token-exchange' })
  const find = provider.ResourceServer
  token.resourceServer = new find(resource, { scope: 'read write', accessTokenFormat: 'jwt', accessTokenTTL: 300 })
  token.resourceServer.audience = resource
  return token.save()
}

const handle = provider.callback()

// /login?user=ann returns Ann's token for agent A, as a login in a browser would.
async function answer(request, response) {
  const user = new URL(request.url, url).searchParams.get('user')
  if (!request.url.startsWith('/login')) return handle(request, response)
  const ctx = provider.createContext(request, response)
  const by = await provider.Client.find('basic')
  response.end(await issue(ctx, by, user, AUDIENCES[0], 'read write', {}))
}

console.error(`listening on ${url}`)
