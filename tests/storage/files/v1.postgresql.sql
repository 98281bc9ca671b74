CREATE TABLE gb_artifacts (
    id bigint NOT NULL,
    dataset_id bigint NOT NULL,
    kind character varying NOT NULL,
    text text NOT NULL,
    session_id character varying,
    valid_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    seq bigint NOT NULL
);
CREATE SEQUENCE gb_artifacts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE gb_artifacts_id_seq OWNED BY gb_artifacts.id;
CREATE TABLE gb_commits (
    dataset_id bigint NOT NULL,
    seq bigint NOT NULL,
    run_id bigint,
    artifact_id bigint,
    session_id character varying,
    counts json NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE gb_datasets (
    id bigint NOT NULL,
    user_id character varying NOT NULL,
    name character varying NOT NULL,
    embedding_model character varying,
    embedding_dim integer,
    head_seq bigint NOT NULL,
    head_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL
);
CREATE SEQUENCE gb_datasets_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE gb_datasets_id_seq OWNED BY gb_datasets.id;
CREATE TABLE gb_edge_artifacts (
    edge_id bigint NOT NULL,
    artifact_id bigint NOT NULL,
    dataset_id bigint NOT NULL,
    seq bigint NOT NULL
);
CREATE TABLE gb_edge_sessions (
    edge_id bigint NOT NULL,
    session_id character varying NOT NULL,
    dataset_id bigint NOT NULL,
    first_seen_at timestamp with time zone NOT NULL
);
CREATE TABLE gb_edge_versions (
    edge_id bigint NOT NULL,
    seq bigint NOT NULL,
    dataset_id bigint NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    valid_at timestamp with time zone NOT NULL,
    invalid_at timestamp with time zone,
    expired_at timestamp with time zone
);
CREATE TABLE gb_edges (
    id bigint NOT NULL,
    dataset_id bigint NOT NULL,
    source_id bigint NOT NULL,
    target_id bigint NOT NULL,
    relation character varying NOT NULL,
    description text NOT NULL,
    artifact_id bigint,
    model_id character varying,
    valid_at timestamp with time zone NOT NULL,
    invalid_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    expired_at timestamp with time zone,
    valid_at_source character varying NOT NULL,
    invalid_at_source character varying,
    valid_precision character varying NOT NULL,
    invalid_precision character varying,
    invalid_set_at timestamp with time zone,
    invalid_set_seq bigint,
    closed_by bigint,
    created_seq bigint NOT NULL,
    expired_seq bigint
);
CREATE SEQUENCE gb_edges_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE gb_edges_id_seq OWNED BY gb_edges.id;
CREATE TABLE gb_entities (
    id bigint NOT NULL,
    dataset_id bigint NOT NULL,
    name character varying NOT NULL,
    name_key character varying NOT NULL,
    type character varying NOT NULL,
    description text NOT NULL,
    desc_key text NOT NULL,
    model_id character varying,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    created_seq bigint NOT NULL,
    text_seq bigint NOT NULL
);
CREATE SEQUENCE gb_entities_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE gb_entities_id_seq OWNED BY gb_entities.id;
CREATE TABLE gb_entity_artifacts (
    entity_id bigint NOT NULL,
    artifact_id bigint NOT NULL,
    dataset_id bigint NOT NULL,
    seq bigint NOT NULL
);
CREATE TABLE gb_entity_sessions (
    entity_id bigint NOT NULL,
    session_id character varying NOT NULL,
    dataset_id bigint NOT NULL,
    first_seen_at timestamp with time zone NOT NULL
);
CREATE TABLE gb_entity_versions (
    entity_id bigint NOT NULL,
    seq bigint NOT NULL,
    dataset_id bigint NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    name character varying NOT NULL,
    type character varying NOT NULL,
    description text NOT NULL
);
CREATE TABLE gb_inferences (
    id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    user_id character varying NOT NULL,
    dataset character varying NOT NULL,
    session_id character varying,
    run_id bigint,
    type character varying NOT NULL,
    stage character varying NOT NULL,
    provider character varying NOT NULL,
    model character varying NOT NULL,
    requested_model character varying NOT NULL,
    reasoning character varying NOT NULL,
    input_tokens bigint NOT NULL,
    cached_input_tokens bigint NOT NULL,
    cache_write_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    thinking_tokens bigint NOT NULL,
    cost_usd double precision NOT NULL,
    latency_ms bigint NOT NULL,
    stop_reason character varying NOT NULL,
    request_id character varying NOT NULL,
    prompt_hash character varying NOT NULL,
    error text
);
CREATE SEQUENCE gb_inferences_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE gb_inferences_id_seq OWNED BY gb_inferences.id;
CREATE TABLE gb_models (
    id bigint NOT NULL,
    name character varying NOT NULL,
    provider character varying NOT NULL,
    first_seen_at timestamp with time zone NOT NULL
);
CREATE SEQUENCE gb_models_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE gb_models_id_seq OWNED BY gb_models.id;
CREATE TABLE gb_remember_run_stages (
    run_id bigint NOT NULL,
    stage character varying NOT NULL,
    status character varying NOT NULL,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    error text,
    inference_ids json NOT NULL
);
CREATE TABLE gb_remember_runs (
    id bigint NOT NULL,
    user_id character varying NOT NULL,
    dataset character varying NOT NULL,
    session_id character varying,
    kind character varying NOT NULL,
    status character varying NOT NULL,
    parameters json NOT NULL,
    artifact_id bigint,
    error text,
    created_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    owner character varying NOT NULL
);
CREATE SEQUENCE gb_remember_runs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE gb_remember_runs_id_seq OWNED BY gb_remember_runs.id;
CREATE TABLE gb_schema (
    version integer NOT NULL,
    min_reader_version integer NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE gb_vector_outbox (
    id bigint NOT NULL,
    dataset_id bigint NOT NULL,
    index_name character varying NOT NULL,
    ref_id bigint NOT NULL,
    text text NOT NULL,
    vector bytea,
    seq bigint NOT NULL,
    owner character varying,
    lease_until timestamp with time zone,
    tries integer NOT NULL,
    last_error text,
    created_at timestamp with time zone NOT NULL
);
CREATE SEQUENCE gb_vector_outbox_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE gb_vector_outbox_id_seq OWNED BY gb_vector_outbox.id;
ALTER TABLE ONLY gb_artifacts ALTER COLUMN id SET DEFAULT nextval('gb_artifacts_id_seq'::regclass);
ALTER TABLE ONLY gb_datasets ALTER COLUMN id SET DEFAULT nextval('gb_datasets_id_seq'::regclass);
ALTER TABLE ONLY gb_edges ALTER COLUMN id SET DEFAULT nextval('gb_edges_id_seq'::regclass);
ALTER TABLE ONLY gb_entities ALTER COLUMN id SET DEFAULT nextval('gb_entities_id_seq'::regclass);
ALTER TABLE ONLY gb_inferences ALTER COLUMN id SET DEFAULT nextval('gb_inferences_id_seq'::regclass);
ALTER TABLE ONLY gb_models ALTER COLUMN id SET DEFAULT nextval('gb_models_id_seq'::regclass);
ALTER TABLE ONLY gb_remember_runs ALTER COLUMN id SET DEFAULT nextval('gb_remember_runs_id_seq'::regclass);
ALTER TABLE ONLY gb_vector_outbox ALTER COLUMN id SET DEFAULT nextval('gb_vector_outbox_id_seq'::regclass);
INSERT INTO gb_artifacts VALUES
	(1, 1, 'knowledge', 'Alice works at Acme.', 's1', '2025-01-31 09:00:00+00', '2026-11-02 09:05:00+00', 1),
	(2, 1, 'knowledge', 'Alice, a senior engineer, lives in Zürich.', 's1', '2025-02-10 09:00:00+00', '2026-11-02 09:15:00+00', 2),
	(3, 1, 'episode', 'Alice moved to Oslo on 1 March 2026.', 's2', '2026-03-02 09:00:00+00', '2026-11-02 09:23:00+00', 3),
	(4, 1, 'knowledge', 'Alice works at Acme.', 's3', '2026-04-01 09:00:00+00', '2026-11-02 09:31:00+00', 4),
	(5, 1, 'knowledge', 'Ben worked at Acme from 2020 to June 2024.', NULL, '2026-04-02 09:00:00+00', '2026-11-02 09:39:00+00', 5),
	(6, 2, 'knowledge', 'STRASSE 7 gehört zu Łódź.', 's9', '2026-05-01 09:00:00+00', '2026-11-02 09:44:00+00', 1),
	(7, 1, 'knowledge', 'Alice knows Ben.', NULL, '2026-05-02 09:00:00+00', '2026-11-02 09:52:00+00', 6),
	(8, 1, 'knowledge', 'Acme is in Oslo.', NULL, '2026-05-04 09:00:00+00', '2026-11-02 10:03:00+00', 7);
INSERT INTO gb_commits VALUES
	(1, 1, 1, 1, 's1', '{"entities": 2, "edges": 1, "invalidated": 0}', '2026-11-02 09:05:00+00'),
	(1, 2, 2, 2, 's1', '{"entities": 2, "edges": 1, "invalidated": 0}', '2026-11-02 09:15:00+00'),
	(1, 3, 3, 3, 's2', '{"entities": 2, "edges": 1, "invalidated": 1}', '2026-11-02 09:23:00+00'),
	(1, 4, 4, 4, 's3', '{"entities": 2, "edges": 1, "invalidated": 0}', '2026-11-02 09:31:00+00'),
	(1, 5, 5, 5, NULL, '{"entities": 2, "edges": 1, "invalidated": 0}', '2026-11-02 09:39:00+00'),
	(2, 1, 6, 6, 's9', '{"entities": 2, "edges": 1, "invalidated": 0}', '2026-11-02 09:44:00+00'),
	(1, 6, 7, 7, NULL, '{"entities": 2, "edges": 1, "invalidated": 0}', '2026-11-02 09:52:00+00'),
	(1, 7, 9, 8, NULL, '{"entities": 2, "edges": 1, "invalidated": 0}', '2026-11-02 10:03:00+00');
INSERT INTO gb_datasets VALUES
	(2, 'u2', 'haus', 'hash-1', 8, 1, '2026-11-02 09:44:00+00', '2026-11-02 09:43:00+00'),
	(1, 'u1', 'main', 'hash-1', 8, 7, '2026-11-02 10:03:00+00', '2026-11-02 09:04:00+00');
INSERT INTO gb_edge_artifacts VALUES
	(1, 1, 1, 1),
	(2, 2, 1, 2),
	(3, 3, 1, 3),
	(1, 4, 1, 4),
	(4, 5, 1, 5),
	(5, 6, 2, 1),
	(6, 7, 1, 6),
	(7, 8, 1, 7);
INSERT INTO gb_edge_sessions VALUES
	(1, 's1', 1, '2026-11-02 09:05:00+00'),
	(2, 's1', 1, '2026-11-02 09:15:00+00'),
	(3, 's2', 1, '2026-11-02 09:23:00+00'),
	(1, 's3', 1, '2026-11-02 09:31:00+00'),
	(5, 's9', 2, '2026-11-02 09:44:00+00');
INSERT INTO gb_edge_versions VALUES
	(2, 3, 1, '2026-11-02 09:23:00+00', '2025-02-01 00:00:00+00', NULL, NULL);
INSERT INTO gb_edges VALUES
	(1, 1, 1, 2, 'works_at', 'Alice works at Acme.', 1, 'scripted-1', '2025-01-31 09:00:00+00', NULL, '2026-11-02 09:05:00+00', NULL, 'stated', NULL, 'instant', NULL, NULL, NULL, NULL, 1, NULL),
	(3, 1, 1, 4, 'lives_in', 'Alice moved to Oslo.', 3, 'caller', '2026-03-01 00:00:00+00', NULL, '2026-11-02 09:23:00+00', NULL, 'stated', NULL, 'day', NULL, NULL, NULL, NULL, 3, NULL),
	(2, 1, 1, 3, 'lives_in', 'Alice lives in Zürich.', 2, 'scripted-1', '2025-02-01 00:00:00+00', '2026-03-01 00:00:00+00', '2026-11-02 09:15:00+00', '2026-11-02 09:23:00+00', 'stated', 'reconciled', 'month', NULL, '2026-11-02 09:23:00+00', 3, 3, 2, 3),
	(4, 1, 5, 2, 'works_at', '', 5, 'caller', '2020-01-01 00:00:00+00', '2024-06-30 00:00:00+00', '2026-11-02 09:39:00+00', NULL, 'stated', 'stated', 'year', 'day', '2026-11-02 09:39:00+00', 5, NULL, 5, NULL),
	(5, 2, 6, 7, 'part_of', '', 6, 'caller', '2026-05-01 09:00:00+00', NULL, '2026-11-02 09:44:00+00', NULL, 'reference', NULL, 'instant', NULL, NULL, NULL, NULL, 1, NULL),
	(6, 1, 1, 5, 'knows', 'Alice knows Ben.', 7, 'caller', '2026-05-02 09:00:00+00', NULL, '2026-11-02 09:52:00+00', NULL, 'reference', NULL, 'instant', NULL, NULL, NULL, NULL, 6, NULL),
	(7, 1, 2, 4, 'located_in', '', 8, 'caller', '2026-05-04 09:00:00+00', NULL, '2026-11-02 10:03:00+00', NULL, 'reference', NULL, 'instant', NULL, NULL, NULL, NULL, 7, NULL);
INSERT INTO gb_entities VALUES
	(3, 1, 'Zürich', 'zürich', 'place', '', '', 'scripted-1', '2026-11-02 09:15:00+00', '2026-11-02 09:15:00+00', 2, 2),
	(6, 2, 'Straße 7', 'strasse 7', 'other', '', '', 'caller', '2026-11-02 09:44:00+00', '2026-11-02 09:44:00+00', 1, 1),
	(7, 2, 'Łódź', 'łódź', 'other', '', '', 'caller', '2026-11-02 09:44:00+00', '2026-11-02 09:44:00+00', 1, 1),
	(1, 1, 'Alice', 'alice', 'person', 'engineer', 'engineer', 'scripted-1', '2026-11-02 09:05:00+00', '2026-11-02 09:52:00+00', 1, 4),
	(5, 1, 'Ben', 'ben', 'other', '', '', 'caller', '2026-11-02 09:39:00+00', '2026-11-02 09:52:00+00', 5, 5),
	(2, 1, 'Acme', 'acme', 'organization', '', '', 'scripted-1', '2026-11-02 09:05:00+00', '2026-11-02 10:03:00+00', 1, 1),
	(4, 1, 'Oslo', 'oslo', 'other', '', '', 'caller', '2026-11-02 09:23:00+00', '2026-11-02 10:03:00+00', 3, 3);
INSERT INTO gb_entity_artifacts VALUES
	(1, 1, 1, 1),
	(2, 1, 1, 1),
	(1, 2, 1, 2),
	(3, 2, 1, 2),
	(1, 3, 1, 3),
	(4, 3, 1, 3),
	(1, 4, 1, 4),
	(2, 4, 1, 4),
	(5, 5, 1, 5),
	(2, 5, 1, 5),
	(6, 6, 2, 1),
	(7, 6, 2, 1),
	(1, 7, 1, 6),
	(5, 7, 1, 6),
	(2, 8, 1, 7),
	(4, 8, 1, 7);
INSERT INTO gb_entity_sessions VALUES
	(1, 's1', 1, '2026-11-02 09:05:00+00'),
	(2, 's1', 1, '2026-11-02 09:05:00+00'),
	(3, 's1', 1, '2026-11-02 09:15:00+00'),
	(1, 's2', 1, '2026-11-02 09:23:00+00'),
	(4, 's2', 1, '2026-11-02 09:23:00+00'),
	(1, 's3', 1, '2026-11-02 09:31:00+00'),
	(2, 's3', 1, '2026-11-02 09:31:00+00'),
	(6, 's9', 2, '2026-11-02 09:44:00+00'),
	(7, 's9', 2, '2026-11-02 09:44:00+00');
INSERT INTO gb_entity_versions VALUES
	(1, 2, 1, '2026-11-02 09:15:00+00', 'Alice', 'person', 'engineer'),
	(1, 4, 1, '2026-11-02 09:31:00+00', 'Alice', 'person', 'a senior engineer');
INSERT INTO gb_inferences VALUES
	(1, '2026-11-30 08:40:19.495704+00', 'u1', 'main', 's1', 1, 'remember', 'extract_graph', 'scripted', 'scripted-1', 'scripted-1', 'none', 100, 0, 0, 20, 0, 0, 1, 'end_turn', '', '632e32802fee', NULL),
	(2, '2026-11-30 08:40:19.503509+00', 'u1', 'main', 's1', 1, 'embedding', 'embed', 'scripted', 'hash-1', 'hash-1', 'none', 9, 0, 0, 0, 0, 0, 1, '', '', '', NULL),
	(3, '2026-11-30 08:40:19.614137+00', 'u1', 'main', 's1', 2, 'remember', 'extract_graph', 'scripted', 'scripted-1', 'scripted-1', 'none', 100, 0, 0, 20, 0, 0, 1, 'end_turn', '', '632e32802fee', NULL),
	(4, '2026-11-30 08:40:19.615136+00', 'u1', 'main', 's1', 2, 'embedding', 'search_similar', 'scripted', 'hash-1', 'hash-1', 'none', 7, 0, 0, 0, 0, 0, 1, '', '', '', NULL),
	(5, '2026-11-30 08:40:19.616439+00', 'u1', 'main', 's1', 2, 'remember', 'resolve_edges', 'scripted', 'scripted-1', 'scripted-1', 'none', 100, 0, 0, 20, 0, 0, 1, 'end_turn', '', 'c60bf98ed210', NULL),
	(6, '2026-11-30 08:40:19.617281+00', 'u1', 'main', 's1', 2, 'embedding', 'embed', 'scripted', 'hash-1', 'hash-1', 'none', 11, 0, 0, 0, 0, 0, 1, '', '', '', NULL),
	(7, '2026-11-30 08:40:19.730373+00', 'u1', 'main', 's2', 3, 'embedding', 'search_similar', 'scripted', 'hash-1', 'hash-1', 'none', 4, 0, 0, 0, 0, 0, 1, '', '', '', NULL),
	(8, '2026-11-30 08:40:19.732599+00', 'u1', 'main', 's2', 3, 'remember', 'resolve_edges', 'scripted', 'scripted-1', 'scripted-1', 'none', 100, 0, 0, 20, 0, 0, 1, 'end_turn', '', 'c60bf98ed210', NULL),
	(9, '2026-11-30 08:40:19.735217+00', 'u1', 'main', 's2', 3, 'embedding', 'embed', 'scripted', 'hash-1', 'hash-1', 'none', 11, 0, 0, 0, 0, 0, 1, '', '', '', NULL),
	(10, '2026-11-30 08:40:19.814001+00', 'u1', 'main', 's3', 4, 'remember', 'extract_graph', 'scripted', 'scripted-1', 'scripted-1', 'none', 100, 0, 0, 20, 0, 0, 1, 'end_turn', '', '632e32802fee', NULL),
	(11, '2026-11-30 08:40:19.814944+00', 'u1', 'main', 's3', 4, 'embedding', 'search_similar', 'scripted', 'hash-1', 'hash-1', 'none', 5, 0, 0, 0, 0, 0, 1, '', '', '', NULL),
	(12, '2026-11-30 08:40:19.815414+00', 'u1', 'main', 's3', 4, 'embedding', 'embed', 'scripted', 'hash-1', 'hash-1', 'none', 9, 0, 0, 0, 0, 0, 1, '', '', '', NULL),
	(13, '2026-11-30 08:40:19.917394+00', 'u1', 'main', NULL, 5, 'embedding', 'search_similar', 'scripted', 'hash-1', 'hash-1', 'none', 4, 0, 0, 0, 0, 0, 1, '', '', '', NULL),
	(14, '2026-11-30 08:40:19.918176+00', 'u1', 'main', NULL, 5, 'remember', 'resolve_edges', 'scripted', 'scripted-1', 'scripted-1', 'none', 100, 0, 0, 20, 0, 0, 1, 'end_turn', '', 'c60bf98ed210', NULL),
	(15, '2026-11-30 08:40:19.918551+00', 'u1', 'main', NULL, 5, 'embedding', 'embed', 'scripted', 'hash-1', 'hash-1', 'none', 8, 0, 0, 0, 0, 0, 1, '', '', '', NULL),
	(16, '2026-11-30 08:40:19.99555+00', 'u2', 'haus', 's9', 6, 'embedding', 'embed', 'scripted', 'hash-1', 'hash-1', 'none', 10, 0, 0, 0, 0, 0, 1, '', '', '', NULL),
	(17, '2026-11-30 08:40:20.031106+00', 'u1', 'main', NULL, 7, 'remember', 'resolve_edges', 'scripted', 'scripted-1', 'scripted-1', 'none', 100, 0, 0, 20, 0, 0, 1, 'end_turn', '', 'c60bf98ed210', NULL),
	(18, '2026-11-30 08:40:20.043853+00', 'u1', 'main', 's3', 8, 'remember', 'extract_graph', 'scripted', 'scripted-1', 'scripted-1', 'none', 100, 0, 0, 20, 0, 0, 1, 'end_turn', '', '632e32802fee', 'the model''s answer could not be parsed'),
	(19, '2026-11-30 08:40:20.043908+00', 'u1', 'main', 's3', 8, 'remember', 'extract_graph', 'scripted', 'scripted-1', 'scripted-1', 'none', 100, 0, 0, 20, 0, 0, 1, 'end_turn', '', '632e32802fee', 'the model''s answer could not be parsed'),
	(20, '2026-11-30 08:40:20.222942+00', 'u1', 'main', NULL, 9, 'embedding', 'search_similar', 'scripted', 'hash-1', 'hash-1', 'none', 4, 0, 0, 0, 0, 0, 1, '', '', '', NULL),
	(21, '2026-11-30 08:40:20.226954+00', 'u1', 'main', NULL, 9, 'remember', 'resolve_edges', 'scripted', 'scripted-1', 'scripted-1', 'none', 100, 0, 0, 20, 0, 0, 1, 'end_turn', '', 'c60bf98ed210', 'the model''s answer could not be parsed'),
	(22, '2026-11-30 08:40:20.226978+00', 'u1', 'main', NULL, 9, 'remember', 'resolve_edges', 'scripted', 'scripted-1', 'scripted-1', 'none', 100, 0, 0, 20, 0, 0, 1, 'end_turn', '', 'c60bf98ed210', NULL),
	(23, '2026-11-30 08:40:20.232476+00', 'u1', 'main', NULL, 9, 'embedding', 'embed', 'scripted', 'hash-1', 'hash-1', 'none', 8, 0, 0, 0, 0, 0, 1, '', '', '', NULL);
INSERT INTO gb_models VALUES
	(1, 'scripted-1', 'scripted', '2026-11-30 08:40:19.492778+00'),
	(2, 'hash-1', 'scripted', '2026-11-30 08:40:19.502424+00'),
	(3, 'caller', 'caller', '2026-11-02 09:23:00+00');
INSERT INTO gb_remember_run_stages VALUES
	(1, 'extract_graph', 'succeeded', '2026-11-02 09:01:00+00', '2026-11-02 09:02:00+00', NULL, '[1]'),
	(1, 'store', 'succeeded', '2026-11-02 09:03:00+00', '2026-11-02 09:06:00+00', NULL, '[2]'),
	(2, 'extract_graph', 'succeeded', '2026-11-02 09:08:00+00', '2026-11-02 09:09:00+00', NULL, '[3]'),
	(2, 'load_candidates', 'succeeded', '2026-11-02 09:10:00+00', '2026-11-02 09:11:00+00', NULL, '[4]'),
	(2, 'resolve_edges', 'succeeded', '2026-11-02 09:12:00+00', '2026-11-02 09:13:00+00', NULL, '[5]'),
	(2, 'store', 'succeeded', '2026-11-02 09:14:00+00', '2026-11-02 09:16:00+00', NULL, '[6]'),
	(3, 'load_candidates', 'succeeded', '2026-11-02 09:18:00+00', '2026-11-02 09:19:00+00', NULL, '[7]'),
	(3, 'resolve_edges', 'succeeded', '2026-11-02 09:20:00+00', '2026-11-02 09:21:00+00', NULL, '[8]'),
	(3, 'store', 'succeeded', '2026-11-02 09:22:00+00', '2026-11-02 09:24:00+00', NULL, '[9]'),
	(4, 'extract_graph', 'succeeded', '2026-11-02 09:26:00+00', '2026-11-02 09:27:00+00', NULL, '[10]'),
	(4, 'load_candidates', 'succeeded', '2026-11-02 09:28:00+00', '2026-11-02 09:29:00+00', NULL, '[11]'),
	(4, 'store', 'succeeded', '2026-11-02 09:30:00+00', '2026-11-02 09:32:00+00', NULL, '[12]'),
	(5, 'load_candidates', 'succeeded', '2026-11-02 09:34:00+00', '2026-11-02 09:35:00+00', NULL, '[13]'),
	(5, 'resolve_edges', 'succeeded', '2026-11-02 09:36:00+00', '2026-11-02 09:37:00+00', NULL, '[14]'),
	(5, 'store', 'succeeded', '2026-11-02 09:38:00+00', '2026-11-02 09:40:00+00', NULL, '[15]'),
	(6, 'store', 'succeeded', '2026-11-02 09:42:00+00', '2026-11-02 09:45:00+00', NULL, '[16]'),
	(7, 'load_candidates', 'succeeded', '2026-11-02 09:47:00+00', '2026-11-02 09:48:00+00', NULL, '[]'),
	(7, 'resolve_edges', 'succeeded', '2026-11-02 09:49:00+00', '2026-11-02 09:50:00+00', NULL, '[17]'),
	(7, 'store', 'succeeded', '2026-11-02 09:51:00+00', '2026-11-02 09:53:00+00', NULL, '[]'),
	(8, 'extract_graph', 'failed', '2026-11-02 09:55:00+00', '2026-11-02 09:56:00+00', 'the model''s answer could not be parsed', '[18, 19]'),
	(9, 'load_candidates', 'succeeded', '2026-11-02 09:58:00+00', '2026-11-02 09:59:00+00', 'the vector index could not be read (FileExistsError)', '[20]'),
	(9, 'resolve_edges', 'succeeded', '2026-11-02 10:00:00+00', '2026-11-02 10:01:00+00', NULL, '[21, 22]'),
	(9, 'store', 'succeeded', '2026-11-02 10:02:00+00', '2026-11-02 10:04:00+00', NULL, '[23]');
INSERT INTO gb_remember_runs VALUES
	(1, 'u1', 'main', 's1', 'text', 'succeeded', '{"reference_time": "2025-01-31T09:00:00Z", "session_id": "s1", "text_bytes": 20, "text_sha256": "030549a81f2b45ad55d6ba63c629501d52f6b4a646810e4ea8b32c6d23376f79"}', 1, NULL, '2026-11-30 08:40:19.411448+00', '2026-11-30 08:40:19.55234+00', 'host-a|1|0'),
	(2, 'u1', 'main', 's1', 'text', 'succeeded', '{"reference_time": "2025-02-10T09:00:00Z", "session_id": "s1", "text_bytes": 43, "text_sha256": "80f4d7a43022cc9de138d4a6ab97c551d7cc17128c1cfc8ba88f4792ea280f24"}', 2, NULL, '2026-11-30 08:40:19.557152+00', '2026-11-30 08:40:19.64844+00', 'host-a|1|0'),
	(3, 'u1', 'main', 's2', 'text', 'succeeded', '{"kind": "episode", "reference_time": "2026-03-02T09:00:00Z", "session_id": "s2", "text_bytes": 36, "text_sha256": "164d9482f628eeefc13b2c2deb2404e48e50dcf575673ce47aca2449771baa14"}', 3, NULL, '2026-11-30 08:40:19.653012+00', '2026-11-30 08:40:19.754923+00', 'host-a|1|0'),
	(4, 'u1', 'main', 's3', 'text', 'succeeded', '{"reference_time": "2026-04-01T09:00:00Z", "session_id": "s3", "text_bytes": 20, "text_sha256": "030549a81f2b45ad55d6ba63c629501d52f6b4a646810e4ea8b32c6d23376f79"}', 4, NULL, '2026-11-30 08:40:19.757462+00', '2026-11-30 08:40:19.831123+00', 'host-a|1|0'),
	(5, 'u1', 'main', NULL, 'text', 'succeeded', '{"reference_time": "2026-04-02T09:00:00Z", "text_bytes": 42, "text_sha256": "6d75f58bbdae8358cb91b5f8b1453a6a19a8d8e6bc8d666137a7e9b52ee47666"}', 5, NULL, '2026-11-30 08:40:19.840058+00', '2026-11-30 08:40:19.92362+00', 'host-a|1|0'),
	(6, 'u2', 'haus', 's9', 'text', 'succeeded', '{"dataset": "haus", "reference_time": "2026-05-01T09:00:00Z", "session_id": "s9", "text_bytes": 29, "text_sha256": "0f4d663c1edcf3001b34dbad5182af40b77b6a6f29910c04b3d9af85dbca72aa"}', 6, NULL, '2026-11-30 08:40:19.930241+00', '2026-11-30 08:40:19.994183+00', 'host-a|1|0'),
	(7, 'u1', 'main', NULL, 'text', 'succeeded', '{"reference_time": "2026-05-02T09:00:00Z", "text_bytes": 16, "text_sha256": "7951a9f7c2c42ef6a739cdee6ef2a025400a2b25bc5c7042ca67b60336aeba59"}', 7, NULL, '2026-11-30 08:40:19.999042+00', '2026-11-30 08:40:20.02924+00', 'host-a|1|0'),
	(8, 'u1', 'main', 's3', 'text', 'failed', '{"reference_time": "2026-05-03T09:00:00Z", "session_id": "s3", "text_bytes": 16, "text_sha256": "6b0d966f7b0fafb9dd14b1038d5968ac923a957d77ca44fe3e60acdf8cc33554"}', NULL, 'the model''s answer could not be parsed', '2026-11-30 08:40:20.036304+00', '2026-11-30 08:40:20.041658+00', 'host-a|1|0'),
	(9, 'u1', 'main', NULL, 'text', 'started', '{"reference_time": "2026-05-04T09:00:00Z", "text_bytes": 16, "text_sha256": "f04adfd610ac808efe5c96eda412a27e0f2e164dd7c5b4d188678f6305ee02a2"}', 8, NULL, '2026-11-30 08:40:20.128119+00', NULL, 'host-a|1|0');
INSERT INTO gb_schema VALUES
	(1, 1, '2026-11-30 08:40:19.39639+00');
INSERT INTO gb_vector_outbox VALUES
	(19, 1, 'entities', 1, 'Alice (person): engineer', '\x2ef9643f00000000000000002ef9e43e00000000000000000000000000000000', 6, NULL, NULL, 2, 'FileExistsError', '2026-11-02 09:52:00+00'),
	(20, 1, 'entities', 5, 'Ben (other)', '\x00000000f304353f0000000000000000000000000000000000000000f304353f', 6, NULL, NULL, 2, 'FileExistsError', '2026-11-02 09:52:00+00'),
	(21, 1, 'edges', 6, 'Alice knows Ben.', '\x00000000000000003acd133f3acd133f0000000000000000000000003acd133f', 6, NULL, NULL, 2, 'FileExistsError', '2026-11-02 09:52:00+00'),
	(22, 1, 'entities', 2, 'Acme (organization)', '\x0000000000000000f304353f00000000000000000000000000000000f30435bf', 7, NULL, NULL, 1, 'FileExistsError', '2026-11-02 10:03:00+00'),
	(23, 1, 'entities', 4, 'Oslo (other)', '\x00000000f304353f00000000000000000000000000000000f30435bf00000000', 7, NULL, NULL, 1, 'FileExistsError', '2026-11-02 10:03:00+00'),
	(24, 1, 'edges', 7, 'Acme located in Oslo', '\xec05d13e00000000ec05d13e000000000000000000000000ec0551bf00000000', 7, NULL, NULL, 1, 'FileExistsError', '2026-11-02 10:03:00+00');
SELECT pg_catalog.setval('gb_artifacts_id_seq', 8, true);
SELECT pg_catalog.setval('gb_datasets_id_seq', 2, true);
SELECT pg_catalog.setval('gb_edges_id_seq', 7, true);
SELECT pg_catalog.setval('gb_entities_id_seq', 7, true);
SELECT pg_catalog.setval('gb_inferences_id_seq', 23, true);
SELECT pg_catalog.setval('gb_models_id_seq', 9, true);
SELECT pg_catalog.setval('gb_remember_runs_id_seq', 9, true);
SELECT pg_catalog.setval('gb_vector_outbox_id_seq', 24, true);
ALTER TABLE ONLY gb_artifacts
    ADD CONSTRAINT gb_artifacts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY gb_commits
    ADD CONSTRAINT gb_commits_pkey PRIMARY KEY (dataset_id, seq);
ALTER TABLE ONLY gb_datasets
    ADD CONSTRAINT gb_datasets_pkey PRIMARY KEY (id);
ALTER TABLE ONLY gb_datasets
    ADD CONSTRAINT gb_datasets_user_id_name_key UNIQUE (user_id, name);
ALTER TABLE ONLY gb_edge_artifacts
    ADD CONSTRAINT gb_edge_artifacts_pkey PRIMARY KEY (edge_id, artifact_id);
ALTER TABLE ONLY gb_edge_sessions
    ADD CONSTRAINT gb_edge_sessions_pkey PRIMARY KEY (edge_id, session_id);
ALTER TABLE ONLY gb_edge_versions
    ADD CONSTRAINT gb_edge_versions_pkey PRIMARY KEY (edge_id, seq);
ALTER TABLE ONLY gb_edges
    ADD CONSTRAINT gb_edges_pkey PRIMARY KEY (id);
ALTER TABLE ONLY gb_entities
    ADD CONSTRAINT gb_entities_dataset_id_name_key_type_key UNIQUE (dataset_id, name_key, type);
ALTER TABLE ONLY gb_entities
    ADD CONSTRAINT gb_entities_pkey PRIMARY KEY (id);
ALTER TABLE ONLY gb_entity_artifacts
    ADD CONSTRAINT gb_entity_artifacts_pkey PRIMARY KEY (entity_id, artifact_id);
ALTER TABLE ONLY gb_entity_sessions
    ADD CONSTRAINT gb_entity_sessions_pkey PRIMARY KEY (entity_id, session_id);
ALTER TABLE ONLY gb_entity_versions
    ADD CONSTRAINT gb_entity_versions_pkey PRIMARY KEY (entity_id, seq);
ALTER TABLE ONLY gb_inferences
    ADD CONSTRAINT gb_inferences_pkey PRIMARY KEY (id);
ALTER TABLE ONLY gb_models
    ADD CONSTRAINT gb_models_name_key UNIQUE (name);
ALTER TABLE ONLY gb_models
    ADD CONSTRAINT gb_models_pkey PRIMARY KEY (id);
ALTER TABLE ONLY gb_remember_run_stages
    ADD CONSTRAINT gb_remember_run_stages_pkey PRIMARY KEY (run_id, stage);
ALTER TABLE ONLY gb_remember_runs
    ADD CONSTRAINT gb_remember_runs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY gb_vector_outbox
    ADD CONSTRAINT gb_vector_outbox_pkey PRIMARY KEY (id);
CREATE INDEX gb_artifacts_session ON gb_artifacts USING btree (dataset_id, session_id, id);
CREATE INDEX gb_commits_time ON gb_commits USING btree (dataset_id, created_at);
CREATE INDEX gb_edge_artifacts_artifact ON gb_edge_artifacts USING btree (artifact_id);
CREATE INDEX gb_edge_sessions_session ON gb_edge_sessions USING btree (dataset_id, session_id);
CREATE INDEX gb_edges_closed_by ON gb_edges USING btree (dataset_id, closed_by);
CREATE UNIQUE INDEX gb_edges_one_open ON gb_edges USING btree (dataset_id, source_id, target_id, relation) WHERE ((expired_at IS NULL) AND (invalid_at IS NULL));
CREATE INDEX gb_edges_seq ON gb_edges USING btree (dataset_id, created_seq);
CREATE INDEX gb_edges_source ON gb_edges USING btree (dataset_id, source_id, created_at, id);
CREATE INDEX gb_edges_target ON gb_edges USING btree (dataset_id, target_id, created_at, id);
CREATE INDEX gb_entities_recent ON gb_entities USING btree (dataset_id, updated_at, id);
CREATE INDEX gb_entity_artifacts_artifact ON gb_entity_artifacts USING btree (artifact_id);
CREATE INDEX gb_entity_sessions_session ON gb_entity_sessions USING btree (dataset_id, session_id);
CREATE INDEX gb_inferences_run ON gb_inferences USING btree (run_id);
CREATE INDEX gb_inferences_user ON gb_inferences USING btree (user_id, dataset, created_at);
CREATE INDEX gb_remember_runs_status ON gb_remember_runs USING btree (status, id);
CREATE INDEX gb_remember_runs_user ON gb_remember_runs USING btree (user_id, dataset, id);
CREATE INDEX gb_vector_outbox_dataset ON gb_vector_outbox USING btree (dataset_id, id);
ALTER TABLE ONLY gb_artifacts
    ADD CONSTRAINT gb_artifacts_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES gb_datasets(id) ON DELETE CASCADE;
ALTER TABLE ONLY gb_commits
    ADD CONSTRAINT gb_commits_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES gb_datasets(id) ON DELETE CASCADE;
ALTER TABLE ONLY gb_edge_artifacts
    ADD CONSTRAINT gb_edge_artifacts_artifact_id_fkey FOREIGN KEY (artifact_id) REFERENCES gb_artifacts(id) ON DELETE CASCADE;
ALTER TABLE ONLY gb_edge_artifacts
    ADD CONSTRAINT gb_edge_artifacts_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES gb_datasets(id) ON DELETE CASCADE;
ALTER TABLE ONLY gb_edge_artifacts
    ADD CONSTRAINT gb_edge_artifacts_edge_id_fkey FOREIGN KEY (edge_id) REFERENCES gb_edges(id) ON DELETE CASCADE;
ALTER TABLE ONLY gb_edge_sessions
    ADD CONSTRAINT gb_edge_sessions_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES gb_datasets(id) ON DELETE CASCADE;
ALTER TABLE ONLY gb_edge_sessions
    ADD CONSTRAINT gb_edge_sessions_edge_id_fkey FOREIGN KEY (edge_id) REFERENCES gb_edges(id) ON DELETE CASCADE;
ALTER TABLE ONLY gb_edge_versions
    ADD CONSTRAINT gb_edge_versions_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES gb_datasets(id) ON DELETE CASCADE;
ALTER TABLE ONLY gb_edge_versions
    ADD CONSTRAINT gb_edge_versions_edge_id_fkey FOREIGN KEY (edge_id) REFERENCES gb_edges(id) ON DELETE CASCADE;
ALTER TABLE ONLY gb_edges
    ADD CONSTRAINT gb_edges_artifact_id_fkey FOREIGN KEY (artifact_id) REFERENCES gb_artifacts(id) ON DELETE SET NULL;
ALTER TABLE ONLY gb_edges
    ADD CONSTRAINT gb_edges_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES gb_datasets(id) ON DELETE CASCADE;
ALTER TABLE ONLY gb_edges
    ADD CONSTRAINT gb_edges_source_id_fkey FOREIGN KEY (source_id) REFERENCES gb_entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY gb_edges
    ADD CONSTRAINT gb_edges_target_id_fkey FOREIGN KEY (target_id) REFERENCES gb_entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY gb_entities
    ADD CONSTRAINT gb_entities_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES gb_datasets(id) ON DELETE CASCADE;
ALTER TABLE ONLY gb_entity_artifacts
    ADD CONSTRAINT gb_entity_artifacts_artifact_id_fkey FOREIGN KEY (artifact_id) REFERENCES gb_artifacts(id) ON DELETE CASCADE;
ALTER TABLE ONLY gb_entity_artifacts
    ADD CONSTRAINT gb_entity_artifacts_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES gb_datasets(id) ON DELETE CASCADE;
ALTER TABLE ONLY gb_entity_artifacts
    ADD CONSTRAINT gb_entity_artifacts_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES gb_entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY gb_entity_sessions
    ADD CONSTRAINT gb_entity_sessions_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES gb_datasets(id) ON DELETE CASCADE;
ALTER TABLE ONLY gb_entity_sessions
    ADD CONSTRAINT gb_entity_sessions_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES gb_entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY gb_entity_versions
    ADD CONSTRAINT gb_entity_versions_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES gb_datasets(id) ON DELETE CASCADE;
ALTER TABLE ONLY gb_entity_versions
    ADD CONSTRAINT gb_entity_versions_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES gb_entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY gb_remember_run_stages
    ADD CONSTRAINT gb_remember_run_stages_run_id_fkey FOREIGN KEY (run_id) REFERENCES gb_remember_runs(id) ON DELETE CASCADE;
ALTER TABLE ONLY gb_vector_outbox
    ADD CONSTRAINT gb_vector_outbox_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES gb_datasets(id) ON DELETE CASCADE;
