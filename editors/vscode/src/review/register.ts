import * as vscode from "vscode";
import { Checkpoints } from "../checkpoints";
import type { Server } from "../client";
import type { Conversation } from "../session";
import { Amendments } from "./amend";
import { reviewCommands, reviewContext } from "./commands";
import { InlineReview } from "./inline";
import { ReviewLenses } from "./lenses";
import { Looks } from "./looks";
import { ChangesPanel } from "./panel";
import { ProposedDocuments } from "./proposed";
import { RefactorPreview } from "./refactor";
import type { Reviews } from "./reviews";

/** Makes everything that shows proposals and takes decisions, and the checkpoints. */
export function registerReview(context: vscode.ExtensionContext, server: Server, conversation: Conversation, reviews: Reviews): void {
  const looks = new Looks(reviews, context.workspaceState);
  const proposed = new ProposedDocuments(reviews);
  const refactor = new RefactorPreview(reviews);
  const inline = new InlineReview(reviews, looks, refactor);
  const amendments = new Amendments(reviews);
  const lenses = new ReviewLenses(reviews);
  context.subscriptions.push(
    reviews,
    looks,
    proposed,
    refactor,
    inline,
    amendments,
    lenses,
    new ChangesPanel(reviews, looks),
    new Checkpoints(server, conversation, looks),
    vscode.languages.registerCodeLensProvider([{ scheme: "file" }, { scheme: "untitled" }], lenses),
    reviewCommands({ reviews, inline, proposed, amendments, looks, refactor }),
    reviewContext(reviews),
  );
}
