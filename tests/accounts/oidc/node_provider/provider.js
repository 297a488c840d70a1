// A provider for tests: everybody who comes is signed in as alice, without a question.
import { createServer } from "node:http";
import Provider from "oidc-provider";

const { PORT, SITE } = process.env;
const issuer = `http://127.0.0.1:${PORT}`;
const accounts = { alice: { email: "alice@example.com", email_verified: true, name: "Alice", groups: ["marketing"] } };

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: "waypost",
      client_secret: "secret-of-the-client",
      redirect_uris: [`${SITE}/login/oidc/callback`],
      backchannel_logout_uri: `${SITE}/login/oidc/logout`,
      backchannel_logout_session_required: true,
    },
  ],
  claims: { openid: ["sub", "groups"], email: ["email", "email_verified"], profile: ["name"] },
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...accounts[id] }) }),
  features: {
    devInteractions: { enabled: false },
    backchannelLogout: { enabled: true },
  },
  interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
  // its own refuses private addresses, and Waypost is at one here
  fetch: (url, options) => globalThis.fetch(url, { ...options, dispatcher: undefined }),
  pkce: { required: () => true },
  cookies: { keys: ["a key for cookies of tests"] },
});

async function grantOf(details) {
  const grant = new provider.Grant({ accountId: details.session.accountId, clientId: details.params.client_id });
  grant.addOIDCScope("openid email profile");
  return grant.save();
}

const answer = provider.callback();
createServer(async (request, response) => {
  if (!request.url.startsWith("/interaction/")) {
    return answer(request, response);
  }
  const details = await provider.interactionDetails(request, response);
  const result =
    details.prompt.name === "login" ? { login: { accountId: "alice" } } : { consent: { grantId: await grantOf(details) } };
  return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
}).listen(Number(PORT), "127.0.0.1", () => console.log("ready"));
