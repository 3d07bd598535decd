
extern "C" void solve(const float* A, const float* B, float* C, int N) {
    dim3 threads(16, 16), blocks((N + 15) / 16, (N + 15) / 16);
    MatrixMulKernel<<<blocks, threads>>>((float*)A, (float*)B, C, N);
    cudaDeviceSynchronize();
}
