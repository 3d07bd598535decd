//!tilelab block=(16,16) grid=(3,1)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int across = (Width + 15) / 16;
    for (int t = blockIdx.x; t < across * across; t += gridDim.x) {
        int row = t / across * 16 + threadIdx.y;
        int col = t % across * 16 + threadIdx.x;
        if (row >= Width || col >= Width) continue;
        float sum = 0;
        for (int k = 0; k < Width; ++k) sum += M[row * Width + k] * N[k * Width + col];
        P[row * Width + col] = sum;
    }
}
