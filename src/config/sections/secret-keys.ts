import { documented, line, textLike, textThat } from "../fields.ts";

/** `secret_env` and `secret_file`: a secret that stands outside the configuration file. */
export const secretReferences = {
  secret_env: documented(
    textLike(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "the name of an environment variable").optional(),
    "The environment variable that holds the secret.",
  ),
  secret_file: documented(
    line(4096).optional(),
    "The file that holds the secret; one newline at its end is dropped. $CREDENTIALS_DIRECTORY stands for systemd's " +
      "folder of LoadCredential.",
    { path: true },
  ),
};

/** `secret`: in the configuration file itself. */
export const inlineSecret = documented(
  textThat((text) => {
    if (text === "") return "must not be empty";
    return text.length > 4096 ? "must have at most 4096 characters" : undefined;
  }).optional(),
  "The secret itself. secret_env and secret_file keep it out of this file; give only one of the three.",
  { secret: "value" },
);
