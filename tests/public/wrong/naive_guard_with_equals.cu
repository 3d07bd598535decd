__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= Width && j <= Width) {
        float s = 0;
        for (int k = 0; k < Width; ++k) s += M[i * Width + k] * N[k * Width + j];
        P[i * Width + j] = s;
    }
}
