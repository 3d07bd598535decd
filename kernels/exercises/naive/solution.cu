// Matrix multiplication, P = M * N, for square matrices of any Width: one thread computes one element of P.
//
// Each element of M and N is read Width times from global memory, each time by another thread. Tiling will save most of
// these reads.

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * blockDim.y + threadIdx.y;
    int Col = blockIdx.x * blockDim.x + threadIdx.x;

    // The last blocks reach past the edge of the matrix.
    if (Row < Width && Col < Width) {
        float Pvalue = 0.0f;
        for (int k = 0; k < Width; ++k) {
            Pvalue += M[Row * Width + k] * N[k * Width + Col];
        }
        P[Row * Width + Col] = Pvalue;
    }
}
