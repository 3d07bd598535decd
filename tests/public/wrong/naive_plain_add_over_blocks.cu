//!tilelab block=(8,8) grid=(ceil(Width/8), ceil(Width/8), 4)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 8 + threadIdx.x;
    if (row >= Width || col >= Width) return;
    if (blockIdx.z == 0) P[row * Width + col] = 0;
    float part = 0;
    for (int k = blockIdx.z; k < Width; k += gridDim.z) part += M[row * Width + k] * N[k * Width + col];
    P[row * Width + col] += part;
}
