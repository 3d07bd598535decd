
void matmul_cpu(const float* A, const float* B, float* C, int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int k = 0; k < n; k++) sum += A[i * n + k] * B[k * n + j];
            C[i * n + j] = sum;
        }
}

void fill(float* data, int size) {
    for (int i = 0; i < size; ++i) data[i] = rand() / (float)RAND_MAX;
}
