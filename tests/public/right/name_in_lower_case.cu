__global__ void matrixMulKernel(float* M, float* N, float* P, int width) {
    int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
    if (r >= width || c >= width) return;
    float s = 0;
    for (int k = 0; k < width; ++k) s += M[r * width + k] * N[k * width + c];
    P[r * width + c] = s;
}
