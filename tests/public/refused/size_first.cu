__global__ void MatrixMulKernel(int N, float* dmatA, float* dmatB, float* dmatC) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N || j >= N) return;
    float s = 0;
    for (int k = 0; k < N; k++) s += dmatA[i * N + k] * dmatB[k * N + j];
    dmatC[i * N + j] = s;
}
