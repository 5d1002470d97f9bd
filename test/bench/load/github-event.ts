/** What a body of the bench weighs, in bytes. */
export const BODY_BYTES = 2048;

/** The `x-github-event` of every body. */
export const EVENT = "issues";

/** The body of an `issues` event such as GitHub sends, cut to its usual members and filled up to 2,048 bytes. */
export function githubBody(number: number): string {
  const user = (login: string, id: number) => ({
    login,
    id,
    node_id: "MDQ6VXNlcjI=",
    url: `https://api.github.com/users/${login}`,
    html_url: `https://github.com/${login}`,
    type: "User",
    site_admin: false,
  });
  const make = (text: string) =>
    JSON.stringify({
      action: "opened",
      issue: {
        url: `https://api.github.com/repos/octo-org/octo-repo/issues/${number}`,
        html_url: `https://github.com/octo-org/octo-repo/issues/${number}`,
        id: 444_500_041 + number,
        number,
        title: "Spelling error in the README file",
        user: user("octocat", 583_231),
        labels: [{ id: 1_362_934_389, name: "bug", color: "d73a4a", default: true }],
        state: "open",
        locked: false,
        comments: 0,
        created_at: "2026-05-15T15:20:18Z",
        updated_at: "2026-05-15T15:20:18Z",
        author_association: "OWNER",
        body: text,
      },
      repository: {
        id: 186_853_002,
        name: "octo-repo",
        full_name: "octo-org/octo-repo",
        private: false,
        owner: user("octo-org", 6_811_672),
        html_url: "https://github.com/octo-org/octo-repo",
        fork: false,
        size: 12,
        default_branch: "main",
      },
      sender: user("hubot", 480_938),
    });
  const sentence = "It looks like a word is misspelled there. ";
  const room = BODY_BYTES - make("").length;
  return make(sentence.repeat(Math.ceil(room / sentence.length)).slice(0, room));
}
